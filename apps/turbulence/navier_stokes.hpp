// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tailrace/fft.hpp"
#include "tailrace/more/fused.hpp"

namespace tailrace::turbulence {

/// Of the velocity, in files.
inline constexpr std::array<const char*, 3> component_names{"u", "v", "w"};

enum class Scheme { rk2, rk4 };
enum class Dealias {
  two_thirds,  ///< keep |k_d| <= (n_d - 1) / 3 along each axis
  phase_shift  ///< keep the sphere |k| <= sqrt(2) n / 3, grids shifted by half a cell in turn
};

struct Scalar {
  double schmidt = 1.0;                          ///< nu / diffusivity
  std::array<double, 3> mean_gradient{0, 0, 0};  ///< d<theta>/d(x, y, z)
};

struct NavierStokesOptions {
  std::array<std::ptrdiff_t, 3> extents{};  ///< (nz, ny, nx)
  std::array<double, 3> lengths{};          ///< box (Lz, Ly, Lx)
  double viscosity = 0;
  Scheme scheme = Scheme::rk4;
  Dealias dealias = Dealias::two_thirds;
  std::vector<Scalar> scalars;
  std::array<int, 2> grid{0, 0};
  fft::Options fft;
};

/// Largest mode numbers that are kept along (z, y, x). Local.
std::array<std::ptrdiff_t, 3> largest_modes(const NavierStokesOptions& options);

/// One forced mode: `acceleration` (x, y, z components, in the normalisation of the velocity
/// modes) is added to du/dt of the mode at `index` of this rank's array, held over a step.
template <class Real>
struct ForcedMode {
  std::ptrdiff_t index = 0;
  std::array<std::complex<Real>, 3> acceleration{};
};

/// Incompressible Navier-Stokes in a periodic box, pseudo-spectral (Rogallo 1981; Canuto et al.),
/// with exact viscous integrating factor. Velocity modes are normalised so that u(x) = sum of
/// modes * exp(i k x). See navier_stokes.cpp for the form of the nonlinear term and its exchanges.
template <class Real>
class NavierStokes {
 public:
  using Complex = std::complex<Real>;

  /// Collective, blocking. Throws `Errc::invalid_input` on all ranks.
  NavierStokes(const Comm& comm, const NavierStokesOptions& options);
  ~NavierStokes();

  const NavierStokesOptions& options() const;
  fft::Transform<Real>& transform();
  const fft::Modes& modes() const;
  /// Wave numbers of this rank's modes [1/length]: (2 pi / L) * integers.
  std::span<const double> kx() const;
  std::span<const double> ky() const;
  std::span<const double> kz() const;
  /// True if mode (j, l, i) is kept (the sphere of phase_shift; always true for two_thirds).
  bool kept(std::ptrdiff_t j, std::ptrdiff_t l, std::ptrdiff_t i) const;

  /// This rank's modes of velocity component c (0, 1, 2 = x, y, z), [ky][kz][kx]; may be changed
  /// between steps, after which `project` makes them divergence-free and removes dropped modes.
  std::span<Complex> velocity(int component);
  std::span<Complex> scalar(int index);
  /// Removes the divergence and the modes that are not kept; makes kx = 0 Hermitian. Collective.
  void project();

  /// Advances by `dt`. Collective, blocking. Allocates nothing after the first call.
  void step(double dt);
  double time() const;
  std::ptrdiff_t step_number() const;
  void set_time(double time, std::ptrdiff_t step_number);

  /// Body force of the next steps (copied), held until changed. Sorted by index. Local.
  void set_forcing(std::span<const ForcedMode<Real>> modes);

  /// Asks that the next `step` copies the velocity (x, y, z), then the scalars, at its *start* to
  /// these physical arrays (this rank's part, dense; null = skip) while they pass through the
  /// cache, so that output costs no transform of its own. Local.
  void capture(std::span<Real* const> fields);
  /// Writes the same fields now, by transforms of their own. Collective, blocking.
  void to_physical(std::span<Real* const> fields);

  /// max over all points of |u|/dx + |v|/dy + |w|/dz [1/time] at the start of the last step;
  /// Courant number = dt * this. 0 before the first step. Collective (one small reduction),
  /// blocking.
  double courant_rate() const;
  /// The same for the present velocity, by transforms of its own. Collective, blocking.
  double measure_courant_rate();
  /// Whether the velocity at the start of the last step was finite at all points of this rank.
  /// Local.
  bool was_finite() const;
  /// The same at all points. Collective, blocking.
  bool was_finite_everywhere() const;
  /// Whether all modes are finite now. Collective, blocking.
  bool is_finite() const;
  /// Bytes held on this rank, and the same in units of one full physical field of this rank.
  std::ptrdiff_t memory_bytes() const;
  /// What the passes of a substage should take here, measured now. Collective, blocking.
  fft::PassCosts measure_costs() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

extern template class NavierStokes<float>;
extern template class NavierStokes<double>;

}  // namespace tailrace::turbulence
