// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "tailrace/layout.hpp"
#include "tailrace/output.hpp"

namespace tailrace::store {

/// What a plan for a variable follows from, on one rank.
struct Shape {
  std::string name;
  ItemType type = ItemType::float64;
  Index extents{};
  int num_dims = 0;
  std::vector<Box> boxes;
  Memory memory;
};

std::vector<Shape> shapes_of(const FileContents& contents, int rank);
/// True if `contents` has these shapes on `rank`; names do not matter. Local.
bool same_shapes(const std::vector<Shape>& shapes, const FileContents& contents, int rank);

}  // namespace tailrace::store
