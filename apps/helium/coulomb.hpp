// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tailrace::helium {

/// Regular Coulomb waves of one electron at r = h, 2 h, ..., `num_points` h, for each of
/// `energies`: normed per energy, times the root of h, so that the square of the sum of one with a
/// function of the grid is a population per energy. Local.
std::vector<std::vector<double>> coulomb_waves(double charge, double step,
                                               std::ptrdiff_t num_points, int l,
                                               std::span<const double> energies);

}  // namespace tailrace::helium
