// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace tailrace {

/// Shell of a wave number, given as a multiple of a shell's width: shell s holds
/// s - 1/2 <= multiple < s + 1/2. In boxes that are not cubes modes lie exactly on an edge, and
/// round-off would decide; hence what is within 1e-9 of an edge (of itself) counts as on it.
inline std::size_t wave_shell(double multiple) {
  constexpr double slack = 1e-9;
  return static_cast<std::size_t>(multiple * (1 + slack) + 0.5);
}

}  // namespace tailrace
