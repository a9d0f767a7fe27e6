// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "tailrace/box.hpp"

namespace tailrace {

/// A contiguous run of items of a row-major array as boxes in file order: the rest of the broken
/// row, the rest of the broken plane, ..., the whole planes, ..., the start of the last row. At
/// most 2 * num_dims - 1 boxes. Local.
std::vector<Box> boxes_of_run(int num_dims, const Index& extents, Range run);

}  // namespace tailrace
