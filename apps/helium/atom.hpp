// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace tailrace::helium {

/// Two electrons in the field of a nucleus, in partial waves on a radial grid.
struct AtomOptions {
  std::ptrdiff_t num_points = 100;
  double step = 0.25;  ///< of the radial grid [Bohr radii]
  double charge = 2;
  int lmax = 2, big_lmax = 1;
  bool triplet = false;
  bool repulsion = true;  ///< false: 1/r12 is left out
};

}  // namespace tailrace::helium
