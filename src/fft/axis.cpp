// SPDX-License-Identifier: BSD-3-Clause
#include "axis.hpp"

namespace tailrace::fft {

Axis Axis::make(std::ptrdiff_t points, std::ptrdiff_t cutoff, bool half) {
  Axis axis{points, half, {}, {}, 0};
  const std::ptrdiff_t all = half ? points / 2 + 1 : points;
  for (std::ptrdiff_t row = 0; row < all; ++row) {
    const bool negative = !half && row > (points - 1) / 2;
    const std::ptrdiff_t number = negative ? row - points : row;
    if (cutoff >= 0 && (number > cutoff || -number > cutoff)) continue;
    axis.k.push_back(static_cast<int>(number));
    axis.row.push_back(row);
    if (!negative) ++axis.num_nonnegative;
  }
  return axis;
}

}  // namespace tailrace::fft
