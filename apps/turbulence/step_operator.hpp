// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What happens between the transforms of one substage.
//
// Form of the nonlinear term (Basdevant 1983; Rogallo 1981). With t_ij = u_i u_j - w^2 delta_ij,
// whose t_33 is zero (the trace is absorbed by the pressure), five products come forward: t_11,
// t_22, u v, u w, v w. After their x and y transforms, where i kx and i ky are plain factors, they
// are combined to
//   A1 = i kx t_11 + i ky uv,   A2 = i kx uv + i ky t_22,   uw,   vw,
// so that four fields travel to the z stage, where
//   R1 = A1 + i kz uw,   R2 = A2 + i kz vw,   R3 = i kx uw + i ky vw,
//   du/dt = -(R - k (k.R) / k^2) - nu k^2 u.
// One-field exchanges a substage: 3 + 3 backward, 5 + 4 forward on a pencil grid: 15; on a slab
// grid, where x and y are one stage, 3 + 4 = 7. Fewer is not possible without taking a z derivative
// before the z transform: the two solenoidal parts of R need i kz times two of the four fields, and
// the three velocities are three independent functions of z. A passive scalar adds 1 + 1 and 3 + 2
// (uT, vT, wT; the first two combined).
//
// Viscosity is exact: with E = exp(-nu k^2 dt / 2), a product of three tables of one axis each,
//   RK4 (Canuto et al. 2006, section 3.3; integrating factor form)
//     u1 = E (u + dt/2 N(u)),  u2 = E u + dt/2 N(u1),  u3 = E^2 u + dt E N(u2),
//     u' = E^2 u + dt/6 (E^2 N(u) + 2 E N(u1) + 2 E N(u2) + N(u3))
//   RK2 (Heun), E over the whole step
//     u1 = E (u + dt N(u)),    u' = E u + dt/2 (E N(u) + N(u1))
// so each field needs one register beside itself; stage values go straight into the next transform.
//
// What a step adds to u is often small: E - 1 is 3e-7 at nu = 1/1600, dt = 5e-4, k = 1, five times
// the spacing of floats. So tables hold E - 1 (a float of E rounds it to 2 digits: 14 % of the
// viscosity), the register sums up u' - u, and u is rounded once a step, at the end. To the nearest
// float, even that is biased while the sum and u hardly change from step to step: always up, or
// always down. In single precision the point of rounding therefore moves with the step number along
// a Weyl sequence, so that what rounding adds and takes away balances: after any number of steps it
// is some 1e-7 of u. (As stochastic rounding, Croci et al. 2022, but without random numbers: its
// error does not even grow as their square root, and restarts and other ranks give the same bits.)

#include <array>
#include <complex>
#include <vector>

#include "navier_stokes.hpp"
#include "tailrace/more/fused.hpp"

namespace tailrace::turbulence {

/// exp(-nu k^2 t) - 1 of one diffusivity along each axis alone.
template <class Real>
struct DecayTables {
  double diffusivity = 0;
  std::vector<Real> z, y, x;  ///< x padded to whole lanes
};

/// Work of one time step; see above. Plain data is filled by NavierStokes.
template <class Real>
class StepOperator : public fft::FusedOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  using V = fft::Vector<Real>;
  static constexpr std::ptrdiff_t w = fft::lanes<Real>;
  static constexpr std::ptrdiff_t u = fft::unit<Real>;

  void physical(const fft::PhysicalTile<Real>& tile) override;
  void combine(const fft::PlaneTile<Real>& tile) override;
  void spectral(const fft::SpectralTile<Real>& tile) override;

  // Set up once.
  Scheme scheme = Scheme::rk4;
  std::vector<Scalar> scalars;
  bool has_gradient = false;
  std::array<std::ptrdiff_t, 3> extents{};  // (nz, ny, nx)
  Box box;                                  // this rank's part of physical space
  std::vector<Real> kx, ky, kz, ky_all;     // wave numbers; kx padded to whole lanes with zeros
  std::vector<int> kx_kept;                 // modes of kx kept in line (ky, kz); empty: all
  std::ptrdiff_t kx_count = 0;              // modes of kx on this rank
  Real normalisation = 1;                   // 1 / number of points
  std::array<std::vector<Complex>, 3>
      half_shift;                           // exp(i k dx / 2) along z, y, x; empty: no shifts
  std::array<double, 3> inverse_spacing{};  // 1 / (dx, dy, dz)
  std::vector<DecayTables<Real>> decay;     // velocity, then each scalar
  std::vector<Complex*> fields;             // velocity and scalars, [ky][kz][kx]
  // Sums of the stages, and the stage sent last (for mean gradients), [ky][kx group][kz][2][lanes].
  std::vector<Real*> sums, sent;

  // Of the step under way.
  Real dt = 0;
  Real rounding_shift = 0;               // from the nearest float, in units of a float's spacing
  int substage = 0;                      // 0: nothing received yet
  bool measuring = false;                // only the Courant rate is wanted
  std::vector<Real*> captured;           // physical arrays to fill, or empty
  std::vector<Real> largest_rate;        // of each thread; infinite if one is not finite
  std::vector<ForcedMode<Real>> forced;  // sorted by index
  std::vector<std::ptrdiff_t> forced_start;  // of each line (ky, kz): its first in `forced`

 private:
  struct Pair {
    V re, im;
  };
  struct Line;  // one (ky, kz) and a unit of kx
  static Pair read(const Real* address) { return {fft::load(address), fft::load(address + w)}; }
  static void write(Real* address, const Pair& value) {
    fft::store(address, value.re);
    fft::store(address + w, value.im);
  }
  Pair load_modes(const Complex* modes, const Line& line) const;
  void store_modes(Complex* modes, const Line& line, const Pair& value) const;
  void nonlinear(const fft::SpectralTile<Real>& tile, const Line& line, Pair* terms) const;
  void add_forcing(const Line& line, Pair* terms) const;
  Pair advance(const Line& line, std::size_t field, const Pair& term) const;
  void prefetch(const Line& line, std::ptrdiff_t num_kz, std::ptrdiff_t num_kx) const;
  V decay_of(const Line& line, std::size_t field) const;
  V rounded_sum(V value, V change) const;
  Pair shift_of(const Line& line) const;
  bool shifted(int stage) const { return stage % 2 == 1 && !half_shift[0].empty(); }
};

}  // namespace tailrace::turbulence
