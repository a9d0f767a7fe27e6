// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "tailrace/box.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::fft {

/// The transform along one axis of n points. `fourier` is the discrete Fourier transform; the
/// others are the cosine and sine transforms I to IV as FFTW (REDFT00, 10, 01, 11 and RODFT) and
/// scipy.fft define them, not normalised: dct2 is 2 sum_j u_j cos(pi k (2 j + 1) / (2 n)). On
/// complex items they act on real and imaginary parts.
enum class AxisKind { fourier, dct1, dct2, dct3, dct4, dst1, dst2, dst3, dst4 };

/// One axis that is transformed.
struct TransformedAxis {
  int axis = 0;  ///< axis of the array; 0 is the slowest
  AxisKind kind = AxisKind::fourier;
  /// Number of points whose modes are kept, at most that of the axis; 0 keeps all. With 2/3 of the
  /// points, products are free of aliasing (3/2 rule). For an even number, the highest Fourier mode
  /// represents two waves: forward adds them, backward gives half to each.
  std::ptrdiff_t kept = 0;
  /// If this axis is divided among ranks when it is to be transformed, the axis that is divided
  /// instead; -1: the axis that was transformed last.
  int swap_with = -1;

  bool operator==(const TransformedAxis&) const = default;
};

/// Definition of a parallel transform of some axes of an array with 1 to `max_dims` axes. Axes that
/// are not listed are batches. Arrays are row-major, the last axis the fastest.
struct ArrayProblem {
  std::vector<std::ptrdiff_t> extents;  ///< global extents of the field
  /// Axes in the order of scipy.fft: forward transforms the last of them first, backward the first.
  /// A real field becomes complex at its first Fourier axis, which then has n / 2 + 1 modes. Empty:
  /// all axes, `fourier`.
  std::vector<TransformedAxis> axes = {};
  bool complex_field = false;  ///< items of the field; modes are real if nothing is complex
  /// Ranks along each axis of the field (row-major, as in `blocks`), 0: choose; empty: choose all.
  /// One axis divided is a slab distribution, two are pencils.
  std::vector<int> grid = {};
  double scale = 1;  ///< factor of modes in forward; `normalization()` makes backward the inverse

  bool operator==(const ArrayProblem&) const = default;
};

struct ArrayOptions {
  std::string kernel = "auto";  ///< 1D kernel library, see kernels(); "auto" measures
  std::string method = "auto";  ///< exchange method, see move_methods(); "auto" measures
  int threads = 1;              ///< OpenMP threads in this rank
};

/// A parallel transform of some axes of an array: Fourier, cosine and sine, in any mixture.
/// backward(forward(u)) = u / normalization() if the scale is 1 and all modes are kept.
///
/// Each axis is a pass over this rank's part by the 1D kernels of `Transform`; if ranks divide the
/// axis, an `Exchange` makes it whole before. An array with exactly three axes, all Fourier and in
/// their order, uses the pipeline of `Transform` if `method` is "auto".
template <class Real>
class ArrayTransform {
 public:
  using Complex = std::complex<Real>;

  /// Plans the transform; measures kernels and methods if requested. Collective, blocking. Throws
  /// `Errc::invalid_input` on all ranks for wrong extents, axes, kinds (a dct1 needs two points) or
  /// grids, an unknown or unavailable kernel or method, or arguments that differ between ranks
  /// (`threads` may).
  ArrayTransform(const Comm& comm, const ArrayProblem& problem, const ArrayOptions& options = {});
  ~ArrayTransform();
  ArrayTransform(ArrayTransform&&) noexcept;

  /// Layouts of the points, and of the kept modes in the order of the array: Fourier modes 0, 1,
  /// ..., -1, as scipy.fft and FFTW give them. Each rank holds one box, dense and row-major.
  const Layout& physical_layout() const;
  const Layout& spectral_layout() const;
  Box physical_box() const;
  Box spectral_box() const;
  /// Whether modes are real, because the field is real and has no Fourier axes.
  bool real_modes() const;

  /// Transforms `field` to `modes`, or back. Inputs are kept. Input and output must not overlap,
  /// but may be the same array if they have equally many items of the same type. Throws
  /// `Errc::invalid_input` (as `Exchange` does) if sizes or types are not those of this rank's
  /// parts. Collective, blocking.
  void forward(std::span<const Real> field, std::span<Complex> modes);
  void forward(std::span<const Real> field, std::span<Real> modes);
  void forward(std::span<const Complex> field, std::span<Complex> modes);
  void backward(std::span<const Complex> modes, std::span<Real> field);
  void backward(std::span<const Real> modes, std::span<Real> field);
  void backward(std::span<const Complex> modes, std::span<Complex> field);

  /// 1 / the product over transformed axes of n (Fourier), 2 (n - 1) (dct1), 2 (n + 1) (dst1) or
  /// 2 n (others).
  double normalization() const;
  const ArrayProblem& problem() const;  ///< the problem, with axes and the chosen grid
  std::string_view kernel() const;
  /// One paragraph: axes, grid, kernel, and the passes and exchanges of a forward transform.
  std::string describe() const;
  /// Bytes of work space on this rank.
  std::ptrdiff_t buffer_bytes() const;

  class Pipeline;

 private:
  std::unique_ptr<Pipeline> pipeline_;
};

extern template class ArrayTransform<float>;
extern template class ArrayTransform<double>;

/// Layouts of the points and of the modes of `problem` on `num_ranks` ranks; see `ArrayTransform`.
/// Throw `Errc::invalid_input` for a wrong problem. Local.
Layout physical_layout(const ArrayProblem& problem, int num_ranks);
Layout spectral_layout(const ArrayProblem& problem, int num_ranks);

namespace array_detail {
template <class Field, class Modes>
void transform(MPI_Comm comm, const ArrayProblem& problem, std::span<const Field> field,
               std::span<Modes> modes, const ArrayOptions& options);
template <class Field, class Modes>
void inverse(MPI_Comm comm, const ArrayProblem& problem, std::span<const Modes> modes,
             std::span<Field> field, const ArrayOptions& options);
}  // namespace array_detail

/// Number of plans of `transform` and `inverse` that a communicator keeps; the least recently used
/// plan is freed first.
inline constexpr int max_kept_plans = 8;

/// Transforms `field` to `modes` without an object: `transform(MPI_COMM_WORLD, {.extents = {nz, ny,
/// nx}}, u, u_hat)`. Arrays are vectors, arrays or spans of this rank's parts as `physical_layout`
/// and `spectral_layout` give them; `complex_field` follows from the type of `field`.
///
/// `comm` keeps the plans of its last `max_kept_plans` problems, as an attribute, until it is freed
/// or MPI_Finalize begins. The first call with a problem therefore takes as long as creating an
/// `ArrayTransform`. Later calls take as long as `forward`, plus one reduction of 32 bytes on
/// several ranks.
///
/// Throws `Errc::invalid_input` on all ranks if sizes or types are not those of a rank's parts, for
/// wrong problems, and for arguments that differ between ranks (`threads` may). Only one thread of
/// a rank may call at a time; with MPI_THREAD_FUNNELED, only the main thread. Collective, blocking.
template <std::ranges::contiguous_range Field, std::ranges::contiguous_range Modes>
void transform(MPI_Comm comm, const ArrayProblem& problem, const Field& field, Modes&& modes,
               const ArrayOptions& options = {}) {
  array_detail::transform(comm, problem,
                          std::span<const std::ranges::range_value_t<Field>>(std::span(field)),
                          std::span<std::ranges::range_value_t<Modes>>(modes), options);
}

/// The inverse of `transform`, with the plan of the same problem: inverse(transform(u)) is u if all
/// modes are kept. Collective, blocking.
template <std::ranges::contiguous_range Modes, std::ranges::contiguous_range Field>
void inverse(MPI_Comm comm, const ArrayProblem& problem, const Modes& modes, Field&& field,
             const ArrayOptions& options = {}) {
  array_detail::inverse(comm, problem,
                        std::span<const std::ranges::range_value_t<Modes>>(std::span(modes)),
                        std::span<std::ranges::range_value_t<Field>>(field), options);
}

}  // namespace tailrace::fft
