// SPDX-License-Identifier: BSD-3-Clause
#include "layout/holes.hpp"

#include <array>
#include <cstdlib>

namespace tailrace {
namespace {

// Cuts `box` at the edge of a held box that is nearest to its middle. There is one: a held box that
// fills `box` leaves no hole.
std::array<Box, 2> cut(const Box& box, const std::vector<Overlap>& held) {
  std::array<Box, 2> halves{box, box};
  double nearest = 2;
  for (const auto& overlap : held) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
      const auto start = overlap.shared.start[d] - box.start[d];
      for (const auto at : {start, start + overlap.shared.extents[d]}) {
        if (at <= 0 || at >= box.extents[d]) continue;
        const auto off_middle = static_cast<double>(std::abs(2 * at - box.extents[d])) /
                                static_cast<double>(box.extents[d]);
        if (off_middle >= nearest) continue;
        nearest = off_middle;
        halves = {box, box};
        halves[0].extents[d] = at;
        halves[1].start[d] += at;
        halves[1].extents[d] -= at;
      }
    }
  }
  return halves;
}

void add_holes(const Box& box, const Layout& layout, std::vector<Box>& found) {
  const auto held = layout.overlaps(box);
  if (held.empty()) {
    found.push_back(box);
    return;
  }
  std::ptrdiff_t items = 0;
  for (const auto& overlap : held) items += overlap.shared.num_items();
  if (items >= box.num_items()) return;
  for (const auto& half : cut(box, held)) add_holes(half, layout, found);
}

}  // namespace

std::vector<Box> holes_in(const Box& box, const Layout& layout) {
  std::vector<Box> found;
  if (!box.empty()) add_holes(box, layout, found);
  return found;
}

std::ptrdiff_t num_held(const Layout& layout) {
  std::ptrdiff_t held = 0;
  for (int rank = 0; rank < layout.num_ranks(); ++rank) held += layout.num_items(rank);
  return held;
}

bool has_holes(const Layout& layout) {
  return num_held(layout) < Box{layout.num_dims(), {}, layout.global_extents()}.num_items();
}

}  // namespace tailrace
