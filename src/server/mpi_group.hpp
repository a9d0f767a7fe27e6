// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include "server/group.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::server {

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
  /// Duplicates `comm`; members are called `word` in errors. Collective, blocking.
  explicit MpiGroup(const Comm& comm, const char* word = "server")
      : comm_(comm.raw()), word_(word) {}
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.num_ranks(); }
  const char* word() const override { return word_; }
  void reduce(std::span<double> values, Operation operation) override;
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override;

 private:
  Comm comm_;
  const char* word_;
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

}  // namespace tailrace::server
