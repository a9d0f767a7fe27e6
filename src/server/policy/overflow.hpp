// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "tailrace/more/output_options.hpp"

namespace tailrace::server {

/// What all ranks have agreed on before a decision, so that all decide alike.
struct Situation {
  bool room = false;          ///< every rank has room for the step as it is
  bool room_lowered = false;  ///< ... if float64 becomes float32
  bool can_spill = false;     ///< every rank's spill folder works and has room
  double run_s = 0;           ///< since the stream was opened, the longest of all ranks
  double seen_s = 0;          ///< stall so far, the longest of all ranks
};

/// What to do with a step. Plain logic without MPI or clock: the same on all ranks.
///
/// A step for which there is room is taken (or, while the stream is thinned, left out if it is not
/// the turn of it). Without room the policy decides; a budget that is not used up is spent on
/// waiting first. With a budget, a step that can neither be lowered nor spilled is dropped, since
/// waiting on would break the budget; without one, it waits.
class Overflow {
 public:
  enum class Action { take, lower, drop, thin, spill, wait };
  struct Choice {
    Action action = Action::take;
    double limit_s = 0;  ///< of `wait`: ask `after_wait` when there is room, or then
    /// Of `wait`: room for the lowered step ends it, too.
    bool lowered_will_do = false;
  };
  /// Throws `Errc::invalid_input` for options that contradict each other. Local.
  explicit Overflow(const OutputOptions& options);
  /// The next step's first decision. Once a step. Local.
  Choice first(const Situation& situation);
  /// After waiting for as long as `first` said: never `wait` again, except that a choice of `wait`
  /// with limit 0 means that the time limit `wait_limit_s` has been reached: an error. Local.
  Choice after_wait(const Situation& situation);
  /// Every how many-th step is taken at present. Local.
  std::int64_t stride() const { return stride_; }

 private:
  Choice take();
  Choice without_room(const Situation& situation, bool may_wait);

  WhenFull when_full_;
  double stall_budget_, wait_limit_s_;
  std::int64_t stride_ = 1;
  std::int64_t skipped_ = 0;  ///< steps left out since the last one whose turn it was
  std::int64_t taken_ = 0;    ///< steps taken at this stride
};

}  // namespace tailrace::server
