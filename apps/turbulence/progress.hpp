// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "statistics.hpp"

namespace tailrace::turbulence {

/// Tells people (a table) or programs (JSON lines) how far a run is, on stdout of rank 0.
class Progress {
 public:
  Progress(bool speaks, bool json, double end, std::int64_t max_steps)
      : speaks_(speaks), json_(json), end_(end), max_steps_(max_steps) {}

  /// One line of the table, for new statistics. Local.
  void statistics(const Statistics& now, double seconds_per_step);
  /// One JSON line, at most ten a second unless `always`. Local.
  void step(std::int64_t step, double time, double dt, double seconds_per_step, double hidden_s,
            bool always);
  /// A line for people: on stderr beside JSON lines. Local.
  void say(const char* text) const;

 private:
  bool speaks_, json_, header_printed_ = false;
  double end_, energy_ = 0, last_print_s_ = 0;
  std::int64_t max_steps_;
};

}  // namespace tailrace::turbulence
