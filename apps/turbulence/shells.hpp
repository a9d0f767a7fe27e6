// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "navier_stokes.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::turbulence {

/// Smallest wave number of the box [1/length]: the width of a shell, and the unit of `k_peak` and
/// `k_max` in case files.
inline double unit_wave_number(const NavierStokesOptions& options) {
  const auto& lengths = options.lengths;
  return 2 * M_PI / std::max({lengths[0], lengths[1], lengths[2]});
}

/// Shell of a wave number: s holds s - 1/2 <= k / unit < s + 1/2, edges as of `fft::shell_of_wave`.
inline int shell_of(double k, double unit) {
  return static_cast<int>(fft::shell_of_wave(k / unit));
}

/// Largest wave number [1/length] of a corner of the kept modes: no mode has a larger one.
inline double largest_wave_number(const NavierStokesOptions& options) {
  const auto modes = largest_modes(options);
  double square = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double k = 2 * M_PI / options.lengths[d] * static_cast<double>(modes[d]);
    square += k * k;
  }
  return std::sqrt(square);
}

/// Number of shells (0, 1, ...) that any kept mode can lie in.
inline int num_shells(const NavierStokesOptions& options) {
  return shell_of(largest_wave_number(options), unit_wave_number(options)) + 1;
}

/// Largest wave number [1/length] up to which the modes of every direction are kept.
inline double largest_isotropic_wave_number(const NavierStokesOptions& options) {
  const auto modes = largest_modes(options);
  double largest = HUGE_VAL;
  for (std::size_t d = 0; d < 3; ++d) {
    largest = std::min(largest, 2 * M_PI / options.lengths[d] * static_cast<double>(modes[d]));
  }
  return largest;
}

/// How often a mode counts in a sum over the whole space: its mirror image -k is not stored.
inline double mirror_weight(int kx) { return kx == 0 ? 1.0 : 2.0; }

/// Of a mode and its mirror image, the one that random numbers are drawn for.
inline bool is_canonical(int kx, int ky, int kz) {
  return kx > 0 || (kx == 0 && (ky > 0 || (ky == 0 && kz >= 0)));
}

/// Calls action(index, kx, ky, kz) with the mode numbers of every mode of this rank, in memory
/// order.
template <class Action>
void for_each_mode(const fft::Modes& modes, Action&& action) {
  std::ptrdiff_t index = 0;
  for (const int ky : modes.ky) {
    for (const int kz : modes.kz) {
      for (const int kx : modes.kx) action(index++, kx, ky, kz);
    }
  }
}

}  // namespace tailrace::turbulence
