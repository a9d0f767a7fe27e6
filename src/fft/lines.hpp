// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "core/buffer.hpp"
#include "kernel.hpp"

namespace tailrace::fft {

/// Order of a library's real-to-complex result: FFTW's halfcomplex r0 r1 ... r(n/2) ... i2 i1, or
/// whole complex numbers r0 0 r1 i1 ..., on lines that are n / 2 + 1 of them long.
enum class RealOrder { halfcomplex, complex };

/// Turns a kernel library for contiguous lines into a kernel for panels: [n][lanes] -> [lanes][n] ->
/// the library -> back, all in cache. `Lines` has run(direction, lines) and real_order; complex
/// lines are interleaved.
template <class Real, class Lines>
class LineKernel : public Kernel<Real> {
 public:
  LineKernel(std::ptrdiff_t n, bool real) : n_(n), real_(real), lines_(n, real) {}

  Real* run(Direction direction, Real* panel, Real* scratch) const override {
    if (real_) {
      const bool backward = direction == Direction::backward;
      const auto stride = real_stride();
      if (backward && stride != n_) clear_imaginary(scratch);
      for (std::ptrdiff_t i = 0; i < n_; ++i) {
        to_lines(panel + i * w, scratch + (backward ? place(i) : i), stride);
      }
      lines_.run(direction, scratch);
      for (std::ptrdiff_t i = 0; i < n_; ++i) {
        to_panel(scratch + (backward ? i : place(i)), stride, panel + i * w);
      }
    } else {
      for (std::ptrdiff_t i = 0; i < 2 * n_; ++i) to_lines(panel + i * w, scratch + i, 2 * n_);
      lines_.run(direction, scratch);
      for (std::ptrdiff_t i = 0; i < 2 * n_; ++i) to_panel(scratch + i, 2 * n_, panel + i * w);
    }
    return panel;
  }

  std::ptrdiff_t scratch_items() const override { return n_ * unit<Real>; }

 private:
  static constexpr std::ptrdiff_t w = lanes<Real>;

  static void to_lines(const Real* row, Real* line, std::ptrdiff_t stride) {
    for (std::ptrdiff_t lane = 0; lane < w; ++lane) line[lane * stride] = row[lane];
  }
  static void to_panel(const Real* line, std::ptrdiff_t stride, Real* row) {
    for (std::ptrdiff_t lane = 0; lane < w; ++lane) row[lane] = line[lane * stride];
  }
  std::ptrdiff_t real_stride() const {
    return Lines::real_order == RealOrder::complex ? n_ / 2 * 2 + 2 : n_;
  }
  // The mean and the Nyquist mode of a real line have no imaginary part.
  void clear_imaginary(Real* lines) const {
    for (std::ptrdiff_t lane = 0; lane < w; ++lane) {
      lines[lane * real_stride() + 1] = 0;
      lines[(lane + 1) * real_stride() - 1] = 0;
    }
  }
  // Where item i of a panel's order stands in the library's.
  std::ptrdiff_t place(std::ptrdiff_t i) const {
    if (i == 0) return 0;
    if constexpr (Lines::real_order == RealOrder::complex) return i + 1;
    const std::ptrdiff_t k = (i + 1) / 2;
    return i % 2 == 1 ? k : n_ - k;
  }

  std::ptrdiff_t n_;
  bool real_;
  Lines lines_;
};

}  // namespace tailrace::fft
