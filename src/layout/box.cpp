// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/box.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "tailrace/more/axis_text.hpp"

namespace tailrace {

namespace {
std::size_t at(int axis) { return static_cast<std::size_t>(axis); }
}  // namespace

std::ptrdiff_t Box::num_items() const {
  std::ptrdiff_t product = 1;
  bool fits = true;
  for (int d = 0; d < num_dims; ++d) {
    if (extents[at(d)] == 0) return 0;
    fits = fits && !__builtin_mul_overflow(product, extents[at(d)], &product);
  }
  return fits ? product : std::numeric_limits<std::ptrdiff_t>::max();
}

std::string Box::describe() const {
  std::vector<std::string> ranges;
  for (int d = 0; d < num_dims; ++d) {
    ranges.push_back(range_text(start[at(d)], extents[at(d)]));
  }
  return fmt::format("[{}]", per_axis(ranges));
}

bool Box::operator==(const Box& other) const {
  if (num_dims != other.num_dims) return false;
  for (int d = 0; d < num_dims; ++d) {
    if (start[at(d)] != other.start[at(d)] || extents[at(d)] != other.extents[at(d)]) return false;
  }
  return true;
}

Box intersect(const Box& a, const Box& b) {
  assert(a.num_dims == b.num_dims);
  Box shared{a.num_dims, {}, {}};
  bool empty = false;
  for (std::size_t d = 0; d < at(a.num_dims); ++d) {
    shared.start[d] = std::max(a.start[d], b.start[d]);
    const auto end = std::min(a.start[d] + a.extents[d], b.start[d] + b.extents[d]);
    shared.extents[d] = end - shared.start[d];
    empty = empty || shared.extents[d] <= 0;
  }
  if (empty) shared.extents = {};
  return shared;
}

Range split_evenly(std::ptrdiff_t num_items, std::ptrdiff_t num_parts, std::ptrdiff_t part) {
  assert(num_items >= 0 && num_parts > 0 && part >= 0 && part < num_parts);
  const auto each = num_items / num_parts;
  const auto longer = num_items % num_parts;
  return {part * each + std::min(part, longer), each + (part < longer ? 1 : 0)};
}

std::ptrdiff_t part_of(std::ptrdiff_t num_items, std::ptrdiff_t num_parts, std::ptrdiff_t item) {
  assert(item >= 0 && item < num_items && num_parts > 0);
  const auto each = num_items / num_parts;
  const auto longer = num_items % num_parts;
  const auto in_longer = longer * (each + 1);
  return item < in_longer ? item / (each + 1) : longer + (item - in_longer) / each;
}

}  // namespace tailrace
