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

/// The waves of all energies side by side, of any norm, at h, 2 h, ...
class Waves {
 public:
  Waves(double charge, double h, int l, std::span<const double> energies)
      : charge_(charge), h_(h), l_(l), energies_(energies.begin(), energies.end()) {
    for (auto* values : {&before_, &here_, &next_}) values->resize(energies.size());
    for (std::size_t e = 0; e < energies.size(); ++e) {
      before_[e] = at_origin(energies[e], h);
      here_[e] = at_origin(energies[e], 2 * h);
    }
  }

  /// At `at` h.
  const std::vector<double>& here() const { return here_; }
  std::ptrdiff_t at() const { return at_; }
  double k_squared(std::ptrdiff_t at, std::size_t e) const { return 2 * energies_[e] + well(at); }

  void step() {
    const double c = h_ * h_ / 12, last = well(at_ - 1), present = well(at_),
                 coming = well(at_ + 1);
    const auto count = energies_.size();
#pragma omp simd
    for (std::size_t e = 0; e < count; ++e) {
      const double energy = 2 * energies_[e];
      next_[e] = ((12 - 10 * (1 + c * (energy + present))) * here_[e] -
                  (1 + c * (energy + last)) * before_[e]) /
                 (1 + c * (energy + coming));
    }
    before_.swap(here_);
    here_.swap(next_);
    ++at_;
  }

 private:
  double well(std::ptrdiff_t at) const {
    const double r = h_ * static_cast<double>(at);
    return 2 * charge_ / r - l_ * (l_ + 1) / (r * r);
  }

  /// r^(l + 1) (1 + first r + second r^2 + third r^3)
  double at_origin(double energy, double r) const {
    const double first = -charge_ / (l_ + 1);
    const double second = -(2 * energy + 2 * charge_ * first) / (4 * l_ + 6);
    const double third = -(2 * energy * first + 2 * charge_ * second) / (6 * l_ + 12);
    return std::pow(r, l_ + 1) * (1 + r * (first + r * (second + r * third)));
  }

  double charge_, h_;
  int l_;
  std::ptrdiff_t at_ = 2;
  std::vector<double> energies_, before_, here_, next_;
};

/// Of five values around a place.
double amplitude(double h, const double (&k2)[3], const double (&u)[5]) {
  const double k = std::sqrt(k2[1]);
  const double slope = (8 * (u[3] - u[1]) - (u[4] - u[0])) / (12 * h);
  const double k_slope = (std::sqrt(k2[2]) - std::sqrt(k2[0])) / (2 * h);
  const double across = slope + u[2] * k_slope / (2 * k);
  return std::sqrt(k * u[2] * u[2] + across * across / k);
}

}  // namespace

std::vector<std::vector<double>> coulomb_waves(double charge, double step,
                                               std::ptrdiff_t num_points, int l,
                                               std::span<const double> energies) {
  const double h = step / finer;
  Waves waves(charge, h, l, energies);
  std::vector<std::vector<double>> found(energies.size());
  const auto last = std::max(num_points * finer, static_cast<std::ptrdiff_t>(far / h)) + 1;
  while (waves.at() < last) {
    waves.step();
    if (waves.at() % finer != 0 || waves.at() > num_points * finer) continue;
    for (std::size_t e = 0; e < energies.size(); ++e) found[e].push_back(waves.here()[e]);
  }
  std::vector<std::vector<double>> tail;
  for (int i = 0; i < 5; ++i) {
    tail.push_back(waves.here());
    waves.step();
  }
  for (std::size_t e = 0; e < energies.size(); ++e) {
    const double k2[] = {waves.k_squared(last + 1, e), waves.k_squared(last + 2, e),
                         waves.k_squared(last + 3, e)};
    const double u[] = {tail[0][e], tail[1][e], tail[2][e], tail[3][e], tail[4][e]};
    const double scale = std::sqrt(2 / M_PI * step) / amplitude(h, k2, u);
    for (double& value : found[e]) value *= scale;
  }
  return found;
}

}  // namespace tailrace::helium
