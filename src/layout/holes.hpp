// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "tailrace/layout.hpp"

namespace tailrace {

/// Disjoint boxes that together are what no rank of `layout` holds of `box`. Local.
std::vector<Box> holes_in(const Box& box, const Layout& layout);

/// True if some item of the global array is held by nobody, where none is held twice. Local; cheap.
bool has_holes(const Layout& layout);

}  // namespace tailrace
