// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tailrace/more/lanes.hpp"

namespace tailrace::fft {

/// Writes rows of modes past the caches, a register's width of kx of every row at a time, wherever
/// the lines of memory begin: what is left over of a row's last line waits in `carried` for the
/// next kx. Only the first and last line of a row are written in parts.
template <class Real>
class ModeRows {
 public:
  /// `num_kx` modes a row. `carried` has a register for each row.
  ModeRows(std::ptrdiff_t num_kx, Real* carried) : num_kx_(num_kx), carried_(carried) {}

  /// Modes kx0 ... of row `index`, which begins at `row`; kx0 is a multiple of the lanes, and
  /// rises by them from call to call of a row.
  void put(Real* row, std::ptrdiff_t index, std::ptrdiff_t kx0, Vector<Real> re, Vector<Real> im) {
    auto* at = row + 2 * kx0;
    auto* carried = carried_ + index * w;
    const auto count = std::min(w, num_kx_ - kx0);
    const auto over = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(at) %
                                                  line_bytes / sizeof(Real));
    if (count < w) {
      copy(at - (kx0 > 0 ? over : 0), carried + w - over, kx0 > 0 ? over : 0);
      return store_interleaved(at, count, re, im);
    }
    Real pair[2 * w];
    store_interleaved(pair, re, im);
    const auto low = load(pair), high = load(pair + w);
    if (kx0 > 0) {
      store_past_caches(at - over, joined(load(carried), low, over));
    } else {
      copy(at, pair, w - over);
    }
    store_past_caches(at - over + w, joined(low, high, over));
    if (kx0 + w == num_kx_) return copy(at + 2 * w - over, pair + 2 * w - over, over);
    store(carried, high);
  }

 private:
  static constexpr auto w = lanes<Real>;
  static constexpr std::uintptr_t line_bytes = simd_bytes;

  static void copy(Real* to, const Real* from, std::ptrdiff_t items) {
    for (std::ptrdiff_t i = 0; i < items; ++i) to[i] = from[i];
  }
  /// The last `over` items of `a`, then the first ones of `b`.
  static Vector<Real> joined(Vector<Real> a, Vector<Real> b, std::ptrdiff_t over) {
    using Mask = typename detail::VectorOf<Real>::mask;
    using Bits = typename detail::VectorOf<Real>::Bits;
    Mask lane;
    for (std::ptrdiff_t i = 0; i < w; ++i) lane[i] = static_cast<Bits>(i);
    return __builtin_shuffle(a, b, lane + static_cast<Bits>(w - over));
  }

  std::ptrdiff_t num_kx_;
  Real* carried_;
};

}  // namespace tailrace::fft
