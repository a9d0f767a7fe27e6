// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "kernel.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace::fft {

/// Order of a library's real-to-complex result: FFTW's halfcomplex r0 r1 ... r(n/2) ... i2 i1, or
/// whole complex numbers r0 0 r1 i1 ..., on lines that are n / 2 + 1 of them long.
enum class RealOrder { halfcomplex, complex };

/// Turns a kernel library for contiguous lines into a kernel for panels: [n][lanes] -> [lanes][n]
/// -> the library -> back, all in cache. `Lines` has run(direction, lines) and real_order; complex
/// lines are interleaved.
template <class Real, class Lines>
class LineKernel : public Kernel<Real> {
 public:
  LineKernel(std::ptrdiff_t n, bool real) : n_(n), real_(real), lines_(n, real) {}

  Real* run(Direction direction, Real* panel, Real* scratch) const override {
    if (!real_) {
      // A complex panel is a matrix [2 n][lanes], interleaved lines are its transpose.
      store_rows<Real>(panel, w, 2 * n_, scratch, 2 * n_);
      lines_.run(direction, scratch);
      load_rows<Real>(scratch, 2 * n_, w, 2 * n_, panel);
    } else if (direction == Direction::forward) {
      store_rows<Real>(panel, w, n_, scratch, real_stride());
      lines_.run(direction, scratch);
      load_modes(scratch, panel);
    } else {
      store_modes(panel, scratch);
      lines_.run(direction, scratch);
      load_rows<Real>(scratch, real_stride(), w, n_, panel);
    }
    return panel;
  }

  std::ptrdiff_t scratch_items() const override { return n_ * unit<Real>; }

 private:
  static constexpr std::ptrdiff_t w = lanes<Real>;

  // Real transforms: items in the library's order -> the panel's r0 r1 i1 r2 ..., and back.
  void load_modes(const Real* lines, Real* panel) const {
    for (std::ptrdiff_t lane = 0; lane < w; ++lane) panel[lane] = lines[lane * real_stride()];
    if constexpr (Lines::real_order == RealOrder::complex) {
      load_rows<Real>(lines + 2, real_stride(), w, n_ - 1, panel + w);
    } else {
      for (std::ptrdiff_t i = 1; i < n_; ++i) {
        const Real* line = lines + place(i);
        for (std::ptrdiff_t lane = 0; lane < w; ++lane) panel[i * w + lane] = line[lane * n_];
      }
    }
  }
  void store_modes(const Real* panel, Real* lines) const {
    for (std::ptrdiff_t lane = 0; lane < w; ++lane) lines[lane * real_stride()] = panel[lane];
    if constexpr (Lines::real_order == RealOrder::complex) {
      clear_imaginary(lines);
      store_rows<Real>(panel + w, w, n_ - 1, lines + 2, real_stride());
    } else {
      for (std::ptrdiff_t i = 1; i < n_; ++i) {
        Real* line = lines + place(i);
        for (std::ptrdiff_t lane = 0; lane < w; ++lane) line[lane * n_] = panel[i * w + lane];
      }
    }
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
  // Where item i > 0 of a panel stands in FFTW's order.
  std::ptrdiff_t place(std::ptrdiff_t i) const {
    const std::ptrdiff_t k = (i + 1) / 2;
    return i % 2 == 1 ? k : n_ - k;
  }

  std::ptrdiff_t n_;
  bool real_;
  Lines lines_;
};

}  // namespace tailrace::fft
