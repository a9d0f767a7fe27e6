// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <vector>

#include "server/group.hpp"
#include "server/step.hpp"

namespace tailrace::server {

/// The periodic box of a field as three axes (z, y, x): of fewer axes, y or z and y are one point.
struct SpectrumBox {
  std::array<std::ptrdiff_t, 3> extents{1, 1, 1};
  std::array<double, 3> lengths{};

  /// Width of a shell: the smallest wave number [1/length].
  double unit() const;
  /// Shell s holds s - 1/2 <= k / unit < s + 1/2, up to the corner of wave number space.
  std::size_t num_shells() const;
};

/// sum over the modes of each shell of |u_k|^2, divided by the width of a shell: times that width
/// and summed up it is the mean of u^2 (Parseval). `field` is real and covers its extents.
/// Collective over the servers; the same on all of them.
std::vector<double> shell_sums(const Field& field, const SpectrumBox& box, Group& group,
                               int threads);

}  // namespace tailrace::server
