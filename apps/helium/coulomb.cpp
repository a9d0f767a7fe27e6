// SPDX-License-Identifier: BSD-3-Clause
// Numerov's method on a finer grid. Far out the amplitude is that of the WKB wave,
// (2 / (pi k(r)))^(1/2).
#include "coulomb.hpp"

#include <algorithm>
#include <cmath>

namespace tailrace::helium {

namespace {

constexpr int finer = 8;       ///< points for one of the grid
constexpr double far = 300.0;  ///< where the amplitude is taken [bohr]

/// One wave, of any norm, at `h`, 2 `h`, ...; k2[i] is k^2 there.
void integrate(double charge, double energy, double h, int l, const std::vector<double>& k2,
               std::vector<double>& u) {
  // u = r^(l + 1) (1 + first r + second r^2 + third r^3)
  const double first = -charge / (l + 1);
  const double second = -(2 * energy + 2 * charge * first) / (4 * l + 6);
  const double third = -(2 * energy * first + 2 * charge * second) / (6 * l + 12);
  for (std::size_t i = 0; i < 2; ++i) {
    const double r = h * static_cast<double>(i + 1);
    u[i] = std::pow(r, l + 1) * (1 + r * (first + r * (second + r * third)));
  }
  const auto weight = [&](std::size_t i) { return 1 + h * h / 12 * k2[i]; };
  for (std::size_t i = 1; i + 1 < u.size(); ++i) {
    u[i + 1] = ((12 - 10 * weight(i)) * u[i] - weight(i - 1) * u[i - 1]) / weight(i + 1);
  }
}

double amplitude(double h, const std::vector<double>& k2, const std::vector<double>& u) {
  const auto at = u.size() - 3;
  const double k = std::sqrt(k2[at]);
  const double slope = (8 * (u[at + 1] - u[at - 1]) - (u[at + 2] - u[at - 2])) / (12 * h);
  const double k_slope = (std::sqrt(k2[at + 1]) - std::sqrt(k2[at - 1])) / (2 * h);
  const double across = slope + u[at] * k_slope / (2 * k);
  return std::sqrt(k * u[at] * u[at] + across * across / k);
}

}  // namespace

std::vector<std::vector<double>> coulomb_waves(double charge, double step,
                                               std::ptrdiff_t num_points, int l,
                                               std::span<const double> energies) {
  const double h = step / finer;
  const auto count =
      static_cast<std::size_t>(std::max(num_points * finer, static_cast<std::ptrdiff_t>(far / h))) +
      1;
  std::vector<double> k2(count), u(count);
  std::vector<std::vector<double>> waves;
  for (const double energy : energies) {
    for (std::size_t i = 0; i < count; ++i) {
      const double r = h * static_cast<double>(i + 1);
      k2[i] = 2 * energy + 2 * charge / r - l * (l + 1) / (r * r);
    }
    integrate(charge, energy, h, l, k2, u);
    const double scale = std::sqrt(2 / M_PI * step) / amplitude(h, k2, u);
    auto& wave = waves.emplace_back();
    for (std::ptrdiff_t i = 1; i <= num_points; ++i) {
      wave.push_back(scale * u[static_cast<std::size_t>(i * finer - 1)]);
    }
  }
  return waves;
}

}  // namespace tailrace::helium
