// SPDX-License-Identifier: BSD-3-Clause
#include "server/policy/overflow.hpp"

#include <algorithm>

#include "core/refuse_input.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

namespace {

/// A thinned stream takes so many steps before it tries half its stride.
constexpr std::int64_t calm_steps = 4;
constexpr std::int64_t longest_stride = std::int64_t{1} << 20;

void check(const OutputOptions& options) {
  if (!(options.stall_budget >= 0 && options.stall_budget < 1)) {
    refuse_input("stall_budget = {}: must be a share of the run time, from 0 (none) to less than 1",
                 options.stall_budget);
  }
  if (options.stall_budget > 0 && options.when_full == WhenFull::wait) {
    refuse_input(
        "stall_budget = {} with when_full \"wait\": a write that waits for memory cannot keep a "
        "budget; choose \"drop\", \"thin\", \"lower\" or \"spill\"",
        options.stall_budget);
  }
  if (!(options.retry_s >= 0)) {
    refuse_input("retry_s = {}: must not be negative", options.retry_s);
  }
  if (!options.spill_folder.empty() && options.when_full != WhenFull::spill) {
    refuse_input("spill_folder = \"{}\" applies only with when_full \"spill\"",
                 options.spill_folder);
  }
}

}  // namespace

Overflow::Overflow(const OutputOptions& options)
    : when_full_(options.when_full),
      stall_budget_(options.stall_budget),
      wait_limit_s_(options.wait_limit_s) {
  check(options);
}

Overflow::Choice Overflow::first(const Situation& situation) {
  if (skipped_ + 1 < stride_) {
    ++skipped_;
    return {Action::thin};
  }
  skipped_ = 0;
  if (situation.room) return take();
  const double left_s = stall_budget_ * situation.run_s - situation.seen_s;
  if (stall_budget_ > 0 && left_s > 0) return {Action::wait, std::min(left_s, wait_limit_s_)};
  return without_room(situation, stall_budget_ == 0);
}

Overflow::Choice Overflow::after_wait(const Situation& situation) {
  if (situation.room) return take();
  return without_room(situation, false);
}

/// A thinned stream that has found room often enough is thinned less.
Overflow::Choice Overflow::take() {
  if (stride_ > 1 && ++taken_ >= calm_steps) {
    stride_ /= 2;
    taken_ = 0;
  }
  return {Action::take};
}

Overflow::Choice Overflow::without_room(const Situation& situation, bool may_wait) {
  switch (when_full_) {
    case WhenFull::drop:
      return {Action::drop};
    case WhenFull::thin:
      stride_ = std::min(2 * stride_, longest_stride);
      taken_ = 0;
      return {Action::thin};
    case WhenFull::lower:
      if (situation.room_lowered) return {Action::lower};
      break;
    case WhenFull::spill:
      if (situation.can_spill) return {Action::spill};
      break;
    case WhenFull::wait:
      break;
  }
  if (may_wait) return {Action::wait, wait_limit_s_, when_full_ == WhenFull::lower};
  if (stall_budget_ > 0) return {Action::drop};
  return {Action::wait, 0};
}

}  // namespace tailrace::server
