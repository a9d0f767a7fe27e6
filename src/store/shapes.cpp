// SPDX-License-Identifier: BSD-3-Clause
#include "store/shapes.hpp"

#include <algorithm>

namespace tailrace::store {
namespace {

bool same_memory(const Memory& a, const Memory& b) {
  return a.num_items == b.num_items &&
         std::ranges::equal(a.boxes, b.boxes, [](const BoxMemory& x, const BoxMemory& y) {
           return x.offset == y.offset && x.strides == y.strides;
         });
}

}  // namespace

std::vector<Shape> shapes_of(const FileContents& contents, int rank) {
  std::vector<Shape> shapes;
  for (const auto& variable : contents.variables) {
    shapes.push_back({variable.name, variable.type, variable.layout->global_extents(),
                      variable.layout->num_dims(), variable.layout->boxes(rank), variable.memory});
  }
  return shapes;
}

bool same_shapes(const std::vector<Shape>& shapes, const FileContents& contents, int rank) {
  return std::ranges::equal(shapes, contents.variables, [&](const Shape& a, const Variable& b) {
    return b.type == a.type && b.layout->num_dims() == a.num_dims &&
           b.layout->global_extents() == a.extents && same_memory(b.memory, a.memory) &&
           b.layout->boxes(rank) == a.boxes;
  });
}

}  // namespace tailrace::store
