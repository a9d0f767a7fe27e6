// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace tailrace::helium {

/// A pulse of one colour, linearly polarised along z, in atomic units:
/// A(t) = -(E0 / w) envelope(t) sin(phase(t)), E = -dA/dt, from `start` for `cycles` periods of w.
/// Zero at both ends, so that gauges agree after it.
struct Colour {
  double frequency = 1.5;  ///< w: photon energy
  double field = 0.02;     ///< E0
  double cycles = 10;      ///< length of the whole pulse in periods
  double start = 0;
  double phase = 0;       ///< of the carrier at the middle [rad]
  double chirp = 0;       ///< dw/dt [1/time^2]: phase(t) = w s + chirp s^2 / 2, s from the middle
  bool gaussian = false;  ///< else sin^2; the Gaussian is cut at both ends and falls to e^-8 of E0

  double duration() const;
};

/// Several colours at once.
class Pulse {
 public:
  explicit Pulse(std::vector<Colour> colours) : colours_(std::move(colours)) {}
  double vector_potential(double time) const;
  double electric_field(double time) const;
  /// The constant potential (or field) that does to a wave what the pulse does in a step of length
  /// `dt` around `middle`, to fourth order in dt: f - dt^2 f'' / 24, by the mean of two points.
  double potential_of_step(double middle, double dt) const;
  double field_of_step(double middle, double dt) const;
  double end() const;  ///< of the last colour
  const std::vector<Colour>& colours() const { return colours_; }

 private:
  std::vector<Colour> colours_;
};

/// Conversions: 1 a.u. of energy in eV, of intensity in W/cm2, of area in megabarn, of speed.
inline constexpr double hartree_ev = 27.211386245988;
inline constexpr double intensity_w_cm2 = 3.50944758e16;
inline constexpr double area_megabarn = 28.0028520539;
inline constexpr double light_speed = 137.035999084;

/// Cross-section [megabarn] of one-photon ionisation with probability `yield` by one sin^2 colour
/// in perturbation theory: yield 8 pi w / (c E0^2 3 T / 8).
double cross_section(double yield, const Colour& colour);

/// The fit to measured cross-sections of helium above the threshold, in megabarn: M. Yan, H. R.
/// Sadeghpour, A. Dalgarno, Astrophys. J. 496, 1044 (1998). `energy_ev` above 24.58.
double fitted_cross_section(double energy_ev);

}  // namespace tailrace::helium
