// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "server/transport.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::server {

/// The servers among themselves: what stages need to work on a whole field. All calls are
/// collective over the servers and blocking; the same order on all of them. A lone server needs no
/// MPI; without servers, the compute ranks are the members.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// What this member is called in errors.
  virtual std::string name() const { return "server " + std::to_string(rank()); }
  enum class Operation { sum, max };
  /// In the order of the members, so that all of them get the same bits.
  virtual void reduce(std::span<double> values, Operation operation);
  void sum(std::span<double> values) { reduce(values, Operation::sum); }
  void max(std::span<double> values) { reduce(values, Operation::max); }
  /// `outgoing[s]` goes to server s; returns what came from each.
  virtual std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) = 0;
  /// The bytes of all servers, in their order, on every server.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) {
    const auto members = static_cast<std::size_t>(size());
    return exchange(std::vector<std::vector<std::byte>>(members, {bytes.begin(), bytes.end()}));
  }
  /// The same of a value that `ByteWriter` takes.
  template <class T>
  std::vector<T> gather_values(const T& value) {
    std::vector<T> all;
    for (const auto& bytes : gather(bytes_from(value))) all.push_back(value_from<T>(bytes));
    return all;
  }
};

/// Bytes of members for each other on their way: started when it is made, moved on by `advance`.
/// Calls of different channels may be under way at the same time, in any order.
class GroupExchange {
 public:
  /// `outgoing[m]` goes to member m, and must live until the exchange is complete. Local.
  GroupExchange(const Comm& comm, int channel, std::span<const std::vector<std::byte>> outgoing);
  /// True once it is complete, for which it waits if `wait`.
  bool advance(bool wait);
  /// What came from each member, once it is complete.
  std::vector<std::vector<std::byte>> take_incoming() { return std::move(incoming_); }

 private:
  void start_messages();

  MPI_Comm comm_;
  int tag_;
  std::span<const std::vector<std::byte>> outgoing_;
  std::vector<std::vector<std::byte>> incoming_;
  std::vector<std::int64_t> own_sizes_, sizes_;  // `sizes_` is empty once the messages have begun
  std::vector<MPI_Request> requests_;
};

/// Ranks that call MPI themselves.
class MpiGroup : public Group {
 public:
  /// Duplicates `comm`; this member is called `name` in errors. Collective, blocking.
  MpiGroup(const Comm& comm, std::string name) : comm_(comm.raw()), name_(std::move(name)) {}
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.num_ranks(); }
  std::string name() const override { return name_; }
  void reduce(std::span<double> values, Operation operation) override;
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override;

 private:
  Comm comm_;
  std::string name_;
};

/// A server without others.
class LoneGroup : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void reduce(std::span<double>, Operation) override {}
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override {
    return outgoing;
  }
};

/// What the background threads of a server have to do with other servers: they leave it here, and
/// one thread that may call MPI carries it out in `progress`: the server's own, or the main thread
/// of a compute rank (MPI_THREAD_FUNNELED). Must outlive the server.
class MpiRelay {
 public:
  /// Duplicates `servers`, of which this one is called `name` in errors. `wakes`, if set, is woken
  /// when there is something to do; not owned. Collective over `servers`, blocking.
  MpiRelay(const Comm& servers, std::string name, Receiver* wakes)
      : comm_(servers.raw()), name_(std::move(name)), wakes_(wakes) {}
  /// For one thread at a time. Groups of different channels do not disturb each other; those of the
  /// same channel on all servers belong together. Local.
  std::unique_ptr<Group> make_group(int channel);
  /// Moves exchanges on. Never waits. The thread that calls MPI.
  void progress();

 private:
  class ChannelGroup;
  struct Call {
    int channel;
    std::span<const std::vector<std::byte>> outgoing;
    std::optional<GroupExchange> exchange = {};
    std::exception_ptr failure = {};
    bool complete = false;
  };
  /// Has an exchange carried out. Blocking. Any thread.
  std::vector<std::vector<std::byte>> exchange(int channel,
                                               const std::vector<std::vector<std::byte>>& outgoing);

  Comm comm_;
  std::string name_;
  Receiver* wakes_;
  std::mutex mutex_;        // of what follows
  std::list<Call*> calls_;  // of the threads that wait for them
  std::condition_variable call_ended_;
};

/// A group in which a stage may fail on one server at any moment: each collective call begins with
/// a word from all ("fine so far"), so that the others leave the stage with it instead of waiting
/// for ever. Costs one small reduction a call.
class GuardedGroup final : public Group {
 public:
  explicit GuardedGroup(Group& group) : group_(group) {}

  /// Runs `action` on every server. If it throws on any of them, all throw the `Error` of the first
  /// one (its number in front where there are several). Collective, blocking.
  void run(const std::function<void()>& action);

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::string name() const override { return group_.name(); }
  void reduce(std::span<double> values, Operation operation) override {
    fine();
    group_.reduce(values, operation);
  }
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override {
    fine();
    return group_.exchange(outgoing);
  }

 private:
  /// Thrown where another server has failed. Not a std::exception: only `run` catches it.
  struct OtherFailed {};
  void fine();
  bool any(bool failed);

  Group& group_;
};

}  // namespace tailrace::server
