// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <limits>

#include "server/group.hpp"
#include "server/step.hpp"

namespace tailrace::server {

/// Count, sum, mean, sum of squared deviations and extremes of a set of numbers, computed and put
/// together without cancellation (Chan, Golub, LeVeque 1979). A NaN makes all of them NaN.
struct Moments {
  double count = 0;
  double sum = 0;
  double mean = 0;
  double m2 = 0;  ///< sum of (x - mean)^2
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(const Moments& other);
  double variance() const { return count > 0 ? m2 / count : std::nan(""); }
};

/// Of all items of a real field, on all servers the same. Sums run over blocks in a tree, so that
/// rounding errors stay small however many items there are. Collective over the servers.
Moments moments_of(const Field& field, Group& group, int threads);

}  // namespace tailrace::server
