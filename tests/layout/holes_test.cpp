// SPDX-License-Identifier: BSD-3-Clause
#include "layout/holes.hpp"

#include <gtest/gtest.h>

#include "random_boxes.hpp"

namespace tailrace {
namespace {

TEST(Holes, FillWhatNobodyHasOnce) {
  int with_holes = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Dice dice(seed);
    const auto extents = random_extents(dice, max_dims, 500);
    const auto whole = whole_box(extents);
    auto boxes = random_partition(dice, whole, dice.between(1, 30));
    std::erase_if(boxes, [&](const Box&) { return dice.chance(30); });
    const auto layout = from_boxes(extents, deal(dice, boxes, 3));
    auto all = boxes;
    const auto holes = holes_in(whole, layout);
    all.insert(all.end(), holes.begin(), holes.end());
    std::vector<int> times(static_cast<std::size_t>(whole.num_items()), 0);
    const auto memory = Memory::dense(all);
    for (std::size_t b = 0; b < all.size(); ++b) {
      for_each_item(all[b], memory.boxes[b], [&](const Index& at, std::ptrdiff_t) {
        ++times[static_cast<std::size_t>(flat_index(extents, at))];
      });
    }
    EXPECT_EQ(std::ranges::count(times, 1), std::ssize(times)) << seed;
    EXPECT_EQ(has_holes(layout), !holes.empty()) << seed;
    with_holes += holes.empty() ? 0 : 1;
  }
  EXPECT_GT(with_holes, 100);
}

}  // namespace
}  // namespace tailrace
