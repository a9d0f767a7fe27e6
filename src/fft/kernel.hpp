// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "tailrace/more/array_transform.hpp"
#include "tailrace/more/lanes.hpp"

namespace tailrace::fft {

enum class Direction { forward, backward };

/// The number I to IV of a cosine or sine transform, and which of the two it is.
constexpr int type_of(AxisKind kind) { return (static_cast<int>(kind) - 1) % 4 + 1; }
constexpr bool is_cosine(AxisKind kind) { return kind >= AxisKind::dct1 && kind <= AxisKind::dct4; }

/// 1D transforms of a panel: all its lanes at once. Stateless after it is made, so threads share
/// it. Complex: panel [n][2][lanes] both ways. Real: forward takes [n][lanes] points and gives,
/// again in [n][lanes], r0, r1, i1, r2, i2, ... (FFTPACK's order); backward is its unnormalised
/// inverse. Cosine and sine transforms: panel [n][lanes] both ways; backward is the transform of
/// the inverse type, unnormalised.
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
  /// Cosine and sine transforms; null where the library has none.
  std::unique_ptr<Kernel<float>> (*make_wave_float)(std::ptrdiff_t n, AxisKind kind) = nullptr;
  std::unique_ptr<Kernel<double>> (*make_wave_double)(std::ptrdiff_t n, AxisKind kind) = nullptr;

  bool available() const;
  template <class Real>
  std::unique_ptr<Kernel<Real>> make(std::ptrdiff_t n, bool real) const {
    if constexpr (sizeof(Real) == 4) {
      return make_float(n, real);
    } else {
      return make_double(n, real);
    }
  }
  /// A cosine or sine transform, by another library if this one has none. Throws
  /// `Errc::invalid_input` if none of those that are built in has it.
  template <class Real>
  std::unique_ptr<Kernel<Real>> make_wave(std::ptrdiff_t n, AxisKind kind) const;
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
std::unique_ptr<Kernel<float>> make_fftw_wave_float(std::ptrdiff_t n, AxisKind kind);
std::unique_ptr<Kernel<double>> make_fftw_wave_double(std::ptrdiff_t n, AxisKind kind);
bool ducc_available();
std::unique_ptr<Kernel<float>> make_ducc_float(std::ptrdiff_t n, bool real);
std::unique_ptr<Kernel<double>> make_ducc_double(std::ptrdiff_t n, bool real);
std::unique_ptr<Kernel<float>> make_ducc_wave_float(std::ptrdiff_t n, AxisKind kind);
std::unique_ptr<Kernel<double>> make_ducc_wave_double(std::ptrdiff_t n, AxisKind kind);
bool mkl_available();
std::unique_ptr<Kernel<float>> make_mkl_float(std::ptrdiff_t n, bool real);
std::unique_ptr<Kernel<double>> make_mkl_double(std::ptrdiff_t n, bool real);
bool wide_available();
std::unique_ptr<Kernel<float>> make_wide_float(std::ptrdiff_t n, bool real);
std::unique_ptr<Kernel<double>> make_wide_double(std::ptrdiff_t n, bool real);

}  // namespace tailrace::fft
