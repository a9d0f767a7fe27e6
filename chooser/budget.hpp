// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tailrace::chooser {

/// What finding out may cost, and what may be lost by what fails: a part of the time of the run,
/// and so much before the run is long.
struct Budget {
  double part_of_run;
  double at_once_s = 0;
  bool allows(double spent_s, double run_s) const {
    return spent_s <= at_once_s + part_of_run * run_s;
  }
};

}  // namespace tailrace::chooser
