// SPDX-License-Identifier: BSD-3-Clause
#include "radial.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lapack.hpp"
#include "tailrace/error.hpp"

namespace tailrace::helium {

Radial::Radial(std::ptrdiff_t num_points, double step, double charge, int points)
    : num_points_(num_points), step_(step), charge_(charge), points_(points) {
  if (num_points < 5 || !(step > 0) || !(charge > 0) || (points != 3 && points != 5)) {
    throw Error(Errc::invalid_input,
                fmt::format("radial grid of {} points, step {}, charge {}, {}-point differences: "
                            "at least 5 points, positive numbers, 3 or 5 points are needed",
                            num_points, step, charge, points));
  }
  if (points == 3) return;
  // Newton's method: the energy changes by the square of the state's first value.
  const double wanted = -charge * charge / 2;
  for (int iteration = 0; iteration < 50; ++iteration) {
    const States ground = states_below(0, 0, 1);
    if (ground.energies.empty()) break;
    const double first = ground.vectors[0][0];
    const double change = (wanted - ground.energies[0]) / (first * first);
    correction_ += change;
    if (std::abs(change) <= 1e-14 * std::abs(correction_)) return;
    if (iteration > 5 && std::abs(ground.energies[0] - wanted) < 1e-13) return;
  }
  throw Error(Errc::invalid_input,
              fmt::format("a grid of {} points of step {} (up to {:.4g}) cannot hold the 1s state "
                          "of charge {}; use a smaller step or more points",
                          num_points, step, step * static_cast<double>(num_points), charge));
}

double Radial::potential(std::ptrdiff_t i, int l) const {
  const double here = r(i);
  double value = l * (l + 1) / (2 * here * here) - charge_ / here;
  if (points_ == 3 || i > 0) return value;
  const double ghost = (l + 1) % 2 == 0 ? 1 : -1;
  value += ghost / (24 * step_ * step_);
  return l == 0 ? value + correction_ : value;
}

/// Lower band storage of LAPACK: the diagonal, the first, the second lower diagonal.
std::vector<double> Radial::banded(int l) const {
  const auto n = static_cast<std::size_t>(num_points_);
  const double scale = 1 / (2 * step_ * step_);
  const double inner = points_ == 3 ? 2 : 30.0 / 12, next = points_ == 3 ? -1 : -16.0 / 12;
  const double after = points_ == 3 ? 0 : 1.0 / 12;
  std::vector<double> band(3 * n);
  for (std::size_t i = 0; i < n; ++i) {
    band[3 * i] = inner * scale + potential(static_cast<std::ptrdiff_t>(i), l);
    band[3 * i + 1] = next * scale;
    band[3 * i + 2] = after * scale;
  }
  return band;
}

Radial::States Radial::states_below(int l, double energy, int most) const {
  const int n = static_cast<int>(num_points_), band_rows = 3, lower = 2;
  auto band = banded(l);
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> q(size * size), values(size), work(7 * size);
  const int wanted = std::min(most, n);
  std::vector<double> vectors(size * static_cast<std::size_t>(wanted));
  std::vector<int> integers(5 * size), failed(size);
  const char* const job = "V";
  const double none = 0, precise = 0;
  const int first = 1;
  int found = 0, info = 0;
  dsbevx_(job, "I", "L", &n, &lower, band.data(), &band_rows, q.data(), &n, &none, &none, &first,
          &wanted, &precise, &found, values.data(), vectors.data(), &n, work.data(),
          integers.data(), failed.data(), &info, 1, 1, 1);
  if (info != 0) throw Error(Errc::internal, fmt::format("dsbevx: info {}", info));
  States states;
  for (int s = 0; s < found && values[static_cast<std::size_t>(s)] < energy; ++s) {
    states.energies.push_back(values[static_cast<std::size_t>(s)]);
    const auto begin = vectors.begin() + static_cast<std::ptrdiff_t>(s) * n;
    auto& vector = states.vectors.emplace_back(begin, begin + n);
    if (vector[0] < 0) {
      for (double& value : vector) value = -value;
    }
  }
  return states;
}

}  // namespace tailrace::helium
