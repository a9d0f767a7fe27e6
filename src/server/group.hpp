// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tailrace::server {

/// The servers among themselves: what stages need to work on a whole field. All calls are
/// collective over the servers and blocking; the same order on all of them. A lone server needs no
/// MPI; without servers, the compute ranks are the members.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// What a member is called in errors.
  virtual const char* word() const { return "server"; }
  enum class Operation { sum, max };
  virtual void reduce(std::span<double> values, Operation operation) = 0;
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
};

/// Runs `action` on all members and tells all of them the numbers that it returned, in their order.
/// If it throws on any, all throw the `Error` of the first one, which names it where there are
/// several. `action` makes no calls of `group`. Collective, blocking; one exchange.
std::vector<std::vector<std::int64_t>> run_on_all(
    Group& group, const std::function<std::vector<std::int64_t>()>& action);

}  // namespace tailrace::server
