// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "server/group.hpp"

namespace tailrace::server {

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
  const char* word() const override { return group_.word(); }
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
