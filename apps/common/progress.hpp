// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "tailrace/log.hpp"

namespace tailrace::app {

/// How far a run is.
struct Advance {
  std::int64_t step = 0;
  double time = 0, dt = 0;
  double seconds_per_step = 0;
  double hidden_s = 0;  ///< output that did not stop the run; NAN: output stops it, or is none
  /// How steps may grow: each by this factor, up to `longest_dt`.
  double growth = 1, longest_dt = 0;
};

/// Steps that `time` takes from the next one on, of length `now.dt`, if each grows as it may.
/// Local.
double steps_to_come(const Advance& now, double time);

/// Tells people (lines of a table) or programs (JSON lines, as `tailrace run` reads them) how far a
/// run is, on stdout of rank 0.
class Progress {
 public:
  /// `end` is the time of the end, `max_steps` the last step (0 = no limit). `log` outlives this.
  Progress(bool speaks, Log& log, bool json, double end, std::int64_t max_steps)
      : speaks_(speaks), json_(json), log_(log), end_(end), max_steps_(max_steps) {}

  /// Whether people read, so that lines of a table are wanted.
  bool shows_table() const { return speaks_ && !json_; }
  /// A line of the table, after `header` once. Local.
  void table(const char* header, const char* line);
  /// One JSON line, at most ten a second unless `always`; no `energy` = NAN. Moves the lines of the
  /// log on: all ranks call it. Local.
  void step(const Advance& now, double energy, bool always);
  /// Prints a line for people in order with the other lines; as {"text": LINE} among JSON. Local.
  void say(const char* text) const;

 private:
  bool speaks_, json_, header_printed_ = false;
  Log& log_;
  double end_, last_print_s_ = 0;
  std::int64_t max_steps_;
};

}  // namespace tailrace::app
