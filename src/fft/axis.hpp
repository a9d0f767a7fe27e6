// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

namespace tailrace::fft {

/// The modes kept along one axis of a transform.
struct Axis {
  std::ptrdiff_t points = 0;        ///< n
  bool half = false;                ///< the x axis of a real transform: k >= 0 only
  std::vector<int> k;               ///< signed number of each kept mode: 0, 1, ..., -2, -1
  std::vector<std::ptrdiff_t> row;  ///< its place in the full transform of n (or n/2 + 1) modes

  std::ptrdiff_t num_nonnegative = 0;  ///< kept modes with k >= 0; the others have the last rows

  std::ptrdiff_t kept() const { return static_cast<std::ptrdiff_t>(k.size()); }

  /// `cutoff` -1 keeps all. The caller has checked its range.
  static Axis make(std::ptrdiff_t points, std::ptrdiff_t cutoff, bool half);
};

}  // namespace tailrace::fft
