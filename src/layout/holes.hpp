// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "tailrace/layout.hpp"

namespace tailrace {

/// Disjoint boxes that together are what no rank of `layout` holds of `box`. Local.
std::vector<Box> holes_in(const Box& box, const Layout& layout);

/// Items that the ranks hold together, each counted as often as it is held. Local; cheap.
std::ptrdiff_t num_held(const Layout& layout);

/// True if some item of the global array is held by nobody, where none is held twice. Local; cheap.
bool has_holes(const Layout& layout);

}  // namespace tailrace
