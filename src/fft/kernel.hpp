// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "tailrace/more/lanes.hpp"

namespace tailrace::fft {

enum class Direction { forward, backward };

/// 1D transforms of a panel: all its lanes at once. Stateless after it is made, so threads share
/// it. Complex: panel [n][2][lanes] both ways. Real: forward takes [n][lanes] points and gives,
/// again in [n][lanes], r0, r1, i1, r2, i2, ... (FFTPACK's order); backward is its unnormalised
/// inverse.
template <class Real>
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Transforms `panel`; `scratch` has `scratch_items()` items. Both are overwritten; the result is
  /// where the returned pointer says (one of the two). Both begin at a multiple of a register's
  /// size.
  virtual Real* run(Direction direction, Real* panel, Real* scratch) const = 0;
  virtual std::ptrdiff_t scratch_items() const = 0;
};

/// A line of the table of kernel libraries: makers of kernels for lines of n points, null where the
/// library was not built in.
struct KernelLibrary {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Kernel<float>> (*make_float)(std::ptrdiff_t n, bool real);
  std::unique_ptr<Kernel<double>> (*make_double)(std::ptrdiff_t n, bool real);

  bool available() const;
  template <class Real>
  std::unique_ptr<Kernel<Real>> make(std::ptrdiff_t n, bool real) const {
    if constexpr (sizeof(Real) == 4) {
      return make_float(n, real);
    } else {
      return make_double(n, real);
    }
  }
};

/// The visible table. One entry at least is available.
std::size_t num_kernel_libraries();
const KernelLibrary& kernel_library(std::size_t index);
/// The first that is built in: the others must give its results.
const KernelLibrary& reference_kernel_library();
/// The entry called `name`, or null.
const KernelLibrary* find_kernel_library(std::string_view name);

bool fftw_available();
std::unique_ptr<Kernel<float>> make_fftw_float(std::ptrdiff_t n, bool real);
std::unique_ptr<Kernel<double>> make_fftw_double(std::ptrdiff_t n, bool real);
bool ducc_available();
std::unique_ptr<Kernel<float>> make_ducc_float(std::ptrdiff_t n, bool real);
std::unique_ptr<Kernel<double>> make_ducc_double(std::ptrdiff_t n, bool real);
bool mkl_available();
std::unique_ptr<Kernel<float>> make_mkl_float(std::ptrdiff_t n, bool real);
std::unique_ptr<Kernel<double>> make_mkl_double(std::ptrdiff_t n, bool real);
bool wide_available();
std::unique_ptr<Kernel<float>> make_wide_float(std::ptrdiff_t n, bool real);
std::unique_ptr<Kernel<double>> make_wide_double(std::ptrdiff_t n, bool real);

}  // namespace tailrace::fft
