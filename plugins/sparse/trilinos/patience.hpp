// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>

#include "options.hpp"

namespace tailrace::trilinos {

/// How often Epetra computes before the arrays are copied: `first` times at least, and after a
/// change of values twice as often each time that the copy before did not pay.
class Patience {
 public:
  explicit Patience(std::ptrdiff_t first = 0) : needed_(options().always ? 0 : first) {}

  bool is_over() const { return calls_ >= needed_; }
  void add_call() { ++calls_; }
  void add_cost(double time_s) { cost_s_ += time_s; }
  void add_gain(double time_s) { gain_s_ += time_s; }
  void restart() {
    constexpr std::ptrdiff_t least = 4;
    constexpr std::ptrdiff_t most = 1 << 20;
    const bool has_paid = gain_s_ >= cost_s_ || options().always;
    needed_ = has_paid ? 0 : std::clamp(2 * needed_, least, most);
    calls_ = 0;
    cost_s_ = gain_s_ = 0;
  }

 private:
  std::ptrdiff_t needed_, calls_ = 0;
  double cost_s_ = 0, gain_s_ = 0;
};

}  // namespace tailrace::trilinos
