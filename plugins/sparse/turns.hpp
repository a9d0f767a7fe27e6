// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <ctime>

#include "chooser/trial.hpp"
#include "plugins/sparse/records.hpp"

namespace tailrace::sparse_plugins {

inline double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Whether the program's library or Tailrace computes one operation. The library does it first, and
/// is timed; then Tailrace's storage is made and timed; then the faster continues. The library is
/// first as the inspection costs about ten products and many matrices never have as many.
class Turns {
 public:
  /// Both are timed so often.
  static constexpr int library_runs = 3, our_runs = 3;

  bool library_is_due() const { return library_runs_ < library_runs; }
  bool decided() const { return given_up_ || trial_.turns(1) >= our_runs; }
  bool ours_wins() const { return !given_up_; }
  void give_up() { given_up_ = true; }
  /// Other values: the verdict stays, the library does the first operations again.
  void restart() { library_runs_ = given_up_ ? library_runs : 1; }
  void add_library() { ++library_runs_; }
  void add_library(double time_s) {
    trial_.add(0, time_s);
    add_library();
  }
  /// The shortest time of the library; infinite where it was not timed.
  double library_s() const { return trial_.shortest_s(0); }
  /// `always`: Tailrace continues regardless of the times.
  void add_ours(Record& record, double time_s, bool always) {
    trial_.add(1, time_s);
    record.ours_s = std::min(record.ours_s, time_s);
    given_up_ = decided() && trial_.winner() == 0 && !always;
  }

 private:
  int library_runs_ = 0;
  bool given_up_ = false;
  chooser::Trial trial_{2, our_runs};
};

}  // namespace tailrace::sparse_plugins
