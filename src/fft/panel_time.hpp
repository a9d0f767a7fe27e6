// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernel.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/lanes.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::fft {

/// Seconds of the 1D transforms of a panel of n points that stays in a cache: the best of some
/// runs. Local.
template <class Real>
double panel_s(const Kernel<Real>& kernel, std::ptrdiff_t n, Direction direction) {
  const auto items = std::max((n + lanes<Real>)*unit<Real>, kernel.scratch_items());
  const auto bytes = items * static_cast<std::ptrdiff_t>(sizeof(Real));
  const Buffer panel(bytes), scratch(bytes);  // zeros: they stay zeros
  constexpr int transforms = 64;
  double best = 1e30;
  for (int run = 0; run < 10; ++run) {
    const double start = now_s();
    for (int i = 0; i < transforms; ++i) {
      kernel.run(direction, panel.as<Real>(), scratch.as<Real>());
    }
    best = std::min(best, now_s() - start);
  }
  return best / transforms;
}

}  // namespace tailrace::fft
