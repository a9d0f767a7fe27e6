// SPDX-License-Identifier: BSD-3-Clause
#include "pulse.hpp"

#include <algorithm>
#include <cmath>

namespace tailrace::helium {

namespace {

/// The Gaussian is exp(-(2 cut s / T)^2), which is e^-16 in A at the ends; what is left is taken
/// off.
constexpr double cut = 4;

/// Envelope and its derivative at `s` from the middle of a pulse of length `duration`.
void envelope(const Colour& c, double s, double& value, double& slope) {
  const double whole = c.duration();
  if (!c.gaussian) {
    const double x = M_PI * (s / whole + 0.5);
    value = std::sin(x) * std::sin(x);
    slope = M_PI / whole * std::sin(2 * x);
    return;
  }
  const double y = 2 * cut * s / whole, least = std::exp(-cut * cut);
  const double bell = std::exp(-y * y);
  value = (bell - least) / (1 - least);
  slope = -4 * cut * y / whole * bell / (1 - least);
}

}  // namespace

double Colour::duration() const { return cycles * 2 * M_PI / frequency; }

double Pulse::vector_potential(double time) const {
  double sum = 0;
  for (const auto& c : colours_) {
    const double s = time - c.start - c.duration() / 2;
    if (std::abs(s) > c.duration() / 2) continue;
    double value = 0, slope = 0;
    envelope(c, s, value, slope);
    sum -=
        c.field / c.frequency * value * std::sin(c.frequency * s + c.chirp * s * s / 2 + c.phase);
  }
  return sum;
}

double Pulse::electric_field(double time) const {
  double sum = 0;
  for (const auto& c : colours_) {
    const double s = time - c.start - c.duration() / 2;
    if (std::abs(s) > c.duration() / 2) continue;
    double value = 0, slope = 0;
    envelope(c, s, value, slope);
    const double angle = c.frequency * s + c.chirp * s * s / 2 + c.phase;
    const double speed = c.frequency + c.chirp * s;
    sum += c.field / c.frequency * (slope * std::sin(angle) + value * speed * std::cos(angle));
  }
  return sum;
}

// H = H0 + f(t) D. In a frame turned by exp(i c dt^2 f' D) the commutator f' [D, H0] dt^3 / 12 of a
// step's Magnus series is gone, and f has become f - dt^2 f'' / 24; the frame is none where f' = 0,
// as at both ends of a pulse.
double Pulse::potential_of_step(double middle, double dt) const {
  const double shift = dt / std::sqrt(12.0);
  return 2 * vector_potential(middle) -
         (vector_potential(middle - shift) + vector_potential(middle + shift)) / 2;
}

double Pulse::field_of_step(double middle, double dt) const {
  const double shift = dt / std::sqrt(12.0);
  return 2 * electric_field(middle) -
         (electric_field(middle - shift) + electric_field(middle + shift)) / 2;
}

double Pulse::end() const {
  double last = 0;
  for (const auto& c : colours_) last = std::max(last, c.start + c.duration());
  return last;
}

double cross_section(double yield, const Colour& colour) {
  const double fluence = colour.field * colour.field * 3 * colour.duration() / 8;
  return yield * 8 * M_PI * colour.frequency / (light_speed * fluence) * area_megabarn;
}

double fitted_cross_section(double energy_ev) {
  constexpr double coefficients[] = {-4.7416, 14.8200, -30.8678, 37.3584, -23.4585, 5.9133};
  const double x = energy_ev / 24.58;
  double sum = 1;
  for (int n = 1; n <= 6; ++n) sum += coefficients[n - 1] * std::pow(x, -0.5 * n);
  return 733.0 * std::pow(energy_ev / 1000, -3.5) * sum * 1e-6;
}

}  // namespace tailrace::helium
