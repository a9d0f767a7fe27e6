// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/method_info.hpp"

namespace tailrace {
class Trace;
}

namespace tailrace::fft {

enum class Kind { real_to_complex, complex_to_complex };

/// Index order of a rank's spectral array, the last index fastest. `ky_kz_kx` accesses memory in
/// longer runs.
enum class ModeOrder { ky_kz_kx, kz_ky_kx };

/// Definition of a parallel 3D transform. Arrays have index order (z, y, x), x fastest.
struct Problem {
  Kind kind = Kind::real_to_complex;
  std::array<std::ptrdiff_t, 3> extents{};  ///< grid points (nz, ny, nx)
  /// Largest |k| kept along each axis (z, y, x); -1 keeps all modes of that axis. Modes beyond it
  /// are not transformed or moved (forward), and are taken as zero (backward).
  std::array<std::ptrdiff_t, 3> cutoff{-1, -1, -1};
  /// Ranks along z and y of the physical array (x is whole); {0, 0} chooses. {P, 1} is a slab grid:
  /// one exchange instead of two, chosen on one node while there are enough planes. On several
  /// nodes the first of two exchanges stays inside nodes where possible (`choose_process_grid`).
  std::array<int, 2> grid{0, 0};
  int max_fields = 1;  ///< largest number of fields in one call
  ModeOrder mode_order = ModeOrder::ky_kz_kx;
  double scale = 1;  ///< factor of modes in forward; 1 / points normalises
};

struct Options {
  std::string kernel = "auto";  ///< 1D kernel library, see kernels(); "auto" measures
  /// Exchange method, see exchange_methods(); "auto" takes the fastest measured, separately for
  /// each of the two exchanges (in rows of the grid between x and y, in columns between y and z).
  std::string method = "auto";
  int threads = 1;         ///< OpenMP threads in this rank
  int chunks = 0;          ///< pieces of a fused exchange that may overlap; 0 chooses
  Trace* trace = nullptr;  ///< not owned; spans of compute, transfer and wait
  std::string row_method;  ///< method of the exchange in rows; "": `method`
  /// Method of writing blocks and fields: a name from store_kinds(), or "auto" (the fastest
  /// measured).
  std::string stores = "auto";
  /// Method of reading blocks, modes and fields: a name from read_kinds(), or "auto" (the fastest
  /// measured).
  std::string reads = "auto";
};

/// The modes that a rank holds. Its spectral array has index order [ky][kz][kx], kx fastest,
/// without gaps: mode (j, l, i) is at (j * kz.size() + l) * kx.size() + i; with
/// `ModeOrder::kz_ky_kx` at (l * ky.size() + j) * kx.size() + i. Mode numbers are signed integers;
/// the wave number is 2 pi / L times the mode number. The Nyquist mode of an even axis counts as
/// negative (-n/2) on full axes and positive (n/2) on the half axis x of a real transform.
struct Modes {
  std::vector<int> ky, kz, kx;
  ModeOrder order = ModeOrder::ky_kz_kx;
  std::ptrdiff_t num_modes() const {
    return static_cast<std::ptrdiff_t>(ky.size() * kz.size() * kx.size());
  }
  std::ptrdiff_t index(std::ptrdiff_t j, std::ptrdiff_t l, std::ptrdiff_t i) const {
    const auto row = order == ModeOrder::ky_kz_kx ? j * static_cast<std::ptrdiff_t>(kz.size()) + l
                                                  : l * static_cast<std::ptrdiff_t>(ky.size()) + j;
    return row * static_cast<std::ptrdiff_t>(kx.size()) + i;
  }
};

/// The shell of a mode whose wave number is `multiple` times the width of a shell: shell s holds s
/// - 1/2 <= multiple < s + 1/2. In boxes that are not cubes, modes may lie exactly on an edge,
/// where round-off would decide. Therefore modes within a relative distance of 1e-9 count as on the
/// edge. Local.
inline std::size_t shell_of_wave(double multiple) {
  constexpr double slack = 1e-9;
  return static_cast<std::size_t>(multiple * (1 + slack) + 0.5);
}

/// A parallel 3D Fourier transform. forward: sum over points of u exp(-i k x), times
/// `Problem::scale`; backward: sum over modes of u exp(+i k x); backward(forward(u)) = nx ny nz u
/// if the scale is 1.
template <class Real>
class Transform {
 public:
  using Complex = std::complex<Real>;
  template <class Item>
  using FieldList = std::initializer_list<std::span<Item>>;

  /// Plans the transform; measures kernels if requested. Collective, blocking. Throws
  /// `Errc::invalid_input` on all ranks for extents < 1, a cut-off beyond n/2, a grid whose product
  /// is not the number of ranks, an unknown or unavailable kernel or method, or arguments that
  /// differ between ranks (`threads` and `trace` may). Errors in calls are handled as in
  /// `Exchange`.
  Transform(const Comm& comm, const Problem& problem, const Options& options = {});
  ~Transform();
  Transform(Transform&&) noexcept;

  /// This rank's part of the physical array: layout of (nz, ny, nx) points, memory row-major dense
  /// (x fastest). Real items for r2c, complex ones for c2c.
  const Layout& physical_layout() const;
  Box physical_box() const;
  /// Layout of the kept modes in global order (kz, ky, kx), and the memory layout of this rank's
  /// array [ky][kz][kx]. Along each axis the modes run 0, 1, ..., cutoff, -cutoff, ..., -1.
  const Layout& spectral_layout() const;
  Memory spectral_memory() const;
  const Modes& modes() const;
  /// Extents of the kept modes (kz, ky, kx).
  std::array<std::ptrdiff_t, 3> spectral_extents() const;

  /// Transforms `field` (physical) to `modes` (spectral), or back: vectors, arrays or spans. Input
  /// and output must not overlap; inputs are kept. Throws `Errc::invalid_input` (as `Exchange`
  /// does) if the size of an array is not that of this rank's part, or if the transform is of the
  /// other kind (real or complex). Collective, blocking.
  void forward(std::span<const Real> field, std::span<Complex> modes) { forward({field}, {modes}); }
  void backward(std::span<const Complex> modes, std::span<Real> field) {
    backward({modes}, {field});
  }
  void forward(std::span<const Complex> field, std::span<Complex> modes) {
    forward({field}, {modes});
  }
  void backward(std::span<const Complex> modes, std::span<Complex> field) {
    backward({modes}, {field});
  }
  /// Transforms several fields: `forward({u, v}, {u_hat, v_hat})`. The exchange of one field
  /// overlaps the transforms of the next if the method permits. Collective, blocking.
  void forward(FieldList<const Real> fields, FieldList<Complex> modes);
  void backward(FieldList<const Complex> modes, FieldList<Real> fields);
  void forward(FieldList<const Complex> fields, FieldList<Complex> modes);
  void backward(FieldList<const Complex> modes, FieldList<Complex> fields);
  /// Transforms fields given by lists of addresses, for programs that know the number of fields
  /// only at run time. Array sizes are not checked. Collective, blocking.
  void forward(std::span<const Real* const> fields, std::span<Complex* const> modes);
  void backward(std::span<const Complex* const> modes, std::span<Real* const> fields);
  void forward(std::span<const Complex* const> fields, std::span<Complex* const> modes);
  void backward(std::span<const Complex* const> modes, std::span<Complex* const> fields);

  const Problem& problem() const;  ///< the problem, with the chosen grid
  std::string_view kernel() const;
  /// Method of the exchange, or of both exchanges ("node_direct in rows, pairwise in columns").
  std::string_view method() const;
  /// How blocks and fields are written.
  std::string_view stores() const;
  /// How blocks, modes and fields are read.
  std::string_view reads() const;
  /// Why this grid of ranks was chosen, in a sentence.
  std::string_view grid_why() const;
  /// One paragraph: the grid and its reason, kernel, methods, and the bytes that this rank moves in
  /// each direction for one field.
  std::string describe() const;
  /// Bytes of work space on this rank.
  std::ptrdiff_t buffer_bytes() const;

  class Engine;

 private:
  std::unique_ptr<Engine> engine_;
};

extern template class Transform<float>;
extern template class Transform<double>;

using KernelInfo = MethodInfo;          ///< a 1D kernel library
using ExchangeMethodInfo = MethodInfo;  ///< a method of exchanging the blocks of a transform
using StoreInfo = MethodInfo;           ///< a method of writing data that is next read from memory
using ReadInfo = MethodInfo;            ///< a method of reading data from memory
/// The tables of values for `Options`. Local.
std::span<const KernelInfo> kernels();
std::span<const ExchangeMethodInfo> exchange_methods();
std::span<const StoreInfo> store_kinds();
std::span<const ReadInfo> read_kinds();

}  // namespace tailrace::fft
