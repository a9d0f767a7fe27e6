// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "server/group.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::server {

/// A collective call of servers on its way: started when it is made, moved on by `advance`.
class GroupCall {
 public:
  /// The sum, minimum or maximum, in place; `values` must live until it is complete.
  GroupCall(const Comm& comm, std::span<double> values, MPI_Op operation);
  /// `outgoing[s]` goes to server s, and must live until the call is complete.
  GroupCall(const Comm& comm, std::span<const std::vector<std::byte>> outgoing);
  /// True once it is complete, for which it waits if `wait`.
  bool advance(bool wait);
  /// What came from each server, once it is complete.
  std::vector<std::vector<std::byte>> take_incoming() { return std::move(incoming_); }

 private:
  void start_messages();

  MPI_Comm comm_;
  std::span<const std::vector<std::byte>> outgoing_;
  std::vector<std::vector<std::byte>> incoming_;
  std::vector<std::int64_t> own_sizes_, sizes_;  // empty once the messages have begun
  std::vector<MPI_Request> requests_;
};

/// The servers that are ranks of `comm`; who makes the MPI calls is up to the kinds of it.
class CalledGroup : public Group {
 public:
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.num_ranks(); }
  void sum(std::span<double> values) override { reduce(values, MPI_SUM); }
  void min(std::span<double> values) override { reduce(values, MPI_MIN); }
  void max(std::span<double> values) override { reduce(values, MPI_MAX); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override;

 protected:
  /// Duplicates `comm`. Collective, blocking.
  explicit CalledGroup(const Comm& comm) : comm_(comm.raw()) {}
  using StartCall = std::function<GroupCall()>;

 private:
  /// Starts the call and waits until it is complete.
  virtual GroupCall carry_out(const StartCall& start) = 0;
  void reduce(std::span<double> values, MPI_Op operation);
  Comm comm_;
};

/// Each server calls MPI itself.
class MpiGroup : public CalledGroup {
 public:
  explicit MpiGroup(const Comm& comm) : CalledGroup(comm) {}

 private:
  GroupCall carry_out(const StartCall& start) override;
};

/// A server without others.
class LoneGroup : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(std::span<double>) override {}
  void min(std::span<double>) override {}
  void max(std::span<double>) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return {{bytes.begin(), bytes.end()}};
  }
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override {
    return outgoing;
  }
};

}  // namespace tailrace::server
