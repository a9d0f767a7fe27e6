// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/layout.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace {
namespace {

using Extents = std::vector<std::ptrdiff_t>;

/// `overlaps` and `ranks_touching` find what a look at `all` boxes finds.
void check_search(const Layout& layout, const std::vector<Overlap>& all, const Box& box) {
  std::vector<Overlap> wanted;
  for (const auto& one : all) {
    const auto shared = intersect(box, one.shared);
    if (!shared.empty()) wanted.push_back({one.rank, one.local_box, shared});
  }
  const auto found = layout.overlaps(box);
  ASSERT_EQ(found.size(), wanted.size()) << box.describe();
  std::vector<int> ranks;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].rank, wanted[i].rank);
    EXPECT_EQ(found[i].local_box, wanted[i].local_box);
    EXPECT_EQ(found[i].shared, wanted[i].shared);
    if (ranks.empty() || ranks.back() != found[i].rank) ranks.push_back(found[i].rank);
  }
  EXPECT_EQ(layout.ranks_touching(box), ranks);
}

/// Every item is in one box of one rank, and searches find what is there.
void check_partition(const Layout& layout) {
  SCOPED_TRACE(layout.describe());
  const Box whole{layout.num_dims(), {}, layout.global_extents()};
  std::vector<Overlap> all;
  std::ptrdiff_t items = 0;
  for (int rank = 0; rank < layout.num_ranks(); ++rank) {
    const auto boxes = layout.boxes(rank);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_FALSE(boxes[i].empty());
      EXPECT_EQ(intersect(boxes[i], whole), boxes[i]);
      for (const auto& other : all) EXPECT_TRUE(intersect(boxes[i], other.shared).empty());
      all.push_back({rank, static_cast<int>(i), boxes[i]});
    }
    items += layout.num_items(rank);
  }
  EXPECT_EQ(items, whole.num_items());
  for (std::ptrdiff_t seed = 0; seed < 60; ++seed) {
    Box box{layout.num_dims(), {}, {}};
    for (std::ptrdiff_t d = 0; d < box.num_dims; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const auto extent = layout.global_extents()[axis];
      box.start[axis] = (seed * (7 + d * 4) + seed * seed) % extent;
      box.extents[axis] = 1 + (seed * 5 + d * 3) % (extent - box.start[axis]);
    }
    check_search(layout, all, box);
  }
}

TEST(Layout, GridsPartitionTheSpace) {
  const Extents uneven{7, 8, 9};
  for (const auto& grid :
       std::vector<std::vector<int>>{{1, 1, 1}, {3, 1, 2}, {2, 5, 4}, {9, 1, 1}}) {
    check_partition(blocks(uneven, grid));
  }
  const std::vector<int> grid{3, 4};
  for (int axis = 0; axis < 3; ++axis) {
    check_partition(pencils(uneven, axis, grid));
    check_partition(slabs(uneven, axis, 5));
    check_partition(slabs(uneven, axis, 13));
  }
  const Extents line{11};
  check_partition(slabs(line, 0, 4));
  const Extents five{3, 2, 4, 3, 5};
  const std::vector<int> grid5{2, 1, 3, 1, 2};
  check_partition(blocks(five, grid5));
}

TEST(Layout, RankNumbersAreRowMajorInTheGrid) {
  const Extents extents{4, 6, 8};
  const std::vector<int> grid{2, 3};
  const auto layout = pencils(extents, 1, grid);  // parts along z and x
  EXPECT_EQ(layout.boxes(0)[0], (Box{3, {0, 0, 0}, {2, 6, 3}}));
  EXPECT_EQ(layout.boxes(1)[0], (Box{3, {0, 0, 3}, {2, 6, 3}}));
  EXPECT_EQ(layout.boxes(5)[0], (Box{3, {2, 0, 6}, {2, 6, 2}}));
}

TEST(Layout, FileDomainsPartitionTheSpace) {
  const Extents uneven{7, 8, 9};
  const std::vector<int> writers{0, 2, 3};
  const std::vector<int> one{4};
  for (const std::ptrdiff_t stripe : {0, 8, 64, 100, 512, 4096}) {
    for (const std::ptrdiff_t offset : {0, 8, 100, 5000}) {
      check_partition(file_domains(uneven, 8, writers, 5, stripe, offset));
      check_partition(file_domains(uneven, 3, one, 5, stripe, offset));
    }
  }
  const Extents line{30};
  check_partition(file_domains(line, 8, writers, 4, 64, 0));
  const Extents five{3, 2, 4, 3, 5};
  check_partition(file_domains(five, 4, writers, 4, 96, 32));
}

TEST(Layout, FileDomainsAreContiguousRunsThatEndAtStripes) {
  const Extents extents{6, 10, 12};
  const std::vector<int> writers{0, 1, 2, 3};
  const std::ptrdiff_t item = 8;
  const std::ptrdiff_t stripe = 256;
  const std::ptrdiff_t offset = 96;  // a multiple of the item, so that boundaries can be exact
  const auto layout = file_domains(extents, item, writers, 4, stripe, offset);
  std::ptrdiff_t next = 0;
  for (const int writer : writers) {
    const auto boxes = layout.boxes(writer);
    EXPECT_LE(boxes.size(), 5U);
    EXPECT_TRUE(next == 0 || (offset + next * item) % stripe == 0) << "writer " << writer;
    for (const auto& box : boxes) {
      const auto first = (box.start[0] * 10 + box.start[1]) * 12 + box.start[2];
      EXPECT_EQ(first, next) << box.describe();
      const auto last =
          ((box.start[0] + box.extents[0] - 1) * 10 + box.start[1] + box.extents[1] - 1) * 12 +
          box.start[2] + box.extents[2] - 1;
      EXPECT_EQ(last - first + 1, box.num_items()) << box.describe();
      next += box.num_items();
    }
  }
  EXPECT_EQ(next, 720);
  // 720 * 8 + 96 bytes are 23 stripes: 6, 6, 6 and 5 of them, the first without its 96 bytes.
  EXPECT_EQ(layout.num_items(0), (6 * stripe - offset) / item);
  EXPECT_EQ(layout.num_items(1), 6 * stripe / item);
  EXPECT_EQ(layout.num_items(3), 720 - (18 * stripe - offset) / item);
}

TEST(Layout, CyclicDomainsPartitionTheSpace) {
  const Extents uneven{7, 8, 9};
  const std::vector<int> writers{0, 2, 3};
  const std::vector<int> one{4};
  for (const std::ptrdiff_t stripe : {8, 64, 100, 512, 4096}) {
    for (const std::ptrdiff_t offset : {0, 8, 100, 5000}) {
      check_partition(cyclic_domains(uneven, 8, writers, 5, stripe, offset));
      check_partition(cyclic_domains(uneven, 3, one, 5, stripe, offset));
    }
  }
  const Extents five{3, 2, 4, 3, 5};
  check_partition(cyclic_domains(five, 4, writers, 4, 96, 32));
}

TEST(Layout, CyclicDomainsGiveEachStripeToOneWriterInTurn) {
  const Extents extents{6, 10, 12};
  const std::vector<int> writers{1, 2, 4};
  constexpr std::ptrdiff_t stripe = 256;
  constexpr std::ptrdiff_t offset = 3 * stripe + 96;
  const auto layout = cyclic_domains(extents, 8, writers, 5, stripe, offset);
  for (std::ptrdiff_t item = 0; item < 6 * 10 * 12; ++item) {
    const Box box{3, {item / 120, item / 12 % 10, item % 12}, {1, 1, 1}};
    const auto owner = writers[static_cast<std::size_t>((offset + item * 8) / stripe) % 3];
    EXPECT_EQ(layout.ranks_touching(box), std::vector<int>{owner}) << item;
  }
}

TEST(Layout, FromBoxesKeepsHolesAndSharedItems) {
  const Extents extents{4, 4};
  const Box left{2, {0, 0}, {4, 2}};
  const Box corner{2, {0, 0}, {1, 1}};
  const Box none{2, {0, 0}, {0, 3}};
  const auto layout = from_boxes(extents, {{left, none}, {}, {corner}});
  EXPECT_EQ(layout.num_ranks(), 3);
  EXPECT_EQ(layout.boxes(0).size(), 1U);
  EXPECT_TRUE(layout.boxes(1).empty());
  EXPECT_EQ(layout.num_items(0), 8);
  EXPECT_EQ(layout.ranks_touching({2, {0, 0}, {1, 4}}), (std::vector<int>{0, 2}));
  EXPECT_TRUE(layout.ranks_touching({2, {0, 2}, {4, 2}}).empty());
}

TEST(Layout, FromManyBoxes) {
  const Extents extents{20, 30};
  std::vector<std::vector<Box>> boxes(7);
  int next = 0;
  for (std::ptrdiff_t i = 0; i < 20; i += 2) {
    for (std::ptrdiff_t j = 0; j < 30; j += 3) {
      boxes[static_cast<std::size_t>(next++ * 5 % 7)].push_back({2, {i, j}, {2, 3}});
    }
  }
  check_partition(from_boxes(extents, boxes));
}

template <class Maker>
std::string refusal_of(Maker&& maker) {
  try {
    maker();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    return error.what();
  }
  return "accepted";
}

TEST(Layout, RefusalsNameTheValues) {
  const Extents cube{4, 5, 6};
  const Extents six{1, 1, 1, 1, 1, 1};
  const Extents negative{4, -5};
  const std::vector<int> two{2, 3};
  const std::vector<int> zero{2, 0, 1};
  const std::vector<int> unsorted{3, 1};
  const std::vector<int> outside{7};
  EXPECT_NE(refusal_of([&] { blocks(cube, two); }).find("[2, 3]"), std::string::npos);
  EXPECT_NE(refusal_of([&] { blocks(cube, zero); }).find("[2, 0, 1]"), std::string::npos);
  EXPECT_NE(refusal_of([&] { pencils(cube, 3, two); }).find("axis 3"), std::string::npos);
  EXPECT_NE(refusal_of([&] { slabs(cube, -1, 2); }).find("axis -1"), std::string::npos);
  EXPECT_NE(refusal_of([&] { slabs(six, 0, 2); }).find("6 extents"), std::string::npos);
  EXPECT_NE(refusal_of([&] { slabs(negative, 0, 2); }).find("-5"), std::string::npos);
  EXPECT_NE(refusal_of([&] { slabs(cube, 0, 0); }), "accepted");
  EXPECT_NE(refusal_of([&] { file_domains(cube, 8, unsorted, 4, 0, 0); }).find("3, 1"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { file_domains(cube, 8, outside, 4, 0, 0); }).find("7"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { file_domains(cube, 0, outside, 9, 0, 0); }).find("item_bytes 0"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] {
              from_boxes(cube, {{Box{3, {0, 0, 5}, {1, 1, 2}}}});
            }).find("[0:1, 0:1, 5:7]"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { slabs(cube, 0, 2).boxes(2); }).find("rank 2"), std::string::npos);
}

/// All boxes of a layout.
std::vector<std::vector<Box>> boxes_of(const Layout& layout) {
  std::vector<std::vector<Box>> boxes;
  for (int rank = 0; rank < layout.num_ranks(); ++rank) boxes.push_back(layout.boxes(rank));
  return boxes;
}

constexpr auto most = std::ptrdiff_t{1} << 56;

/// Makes a layout of `extents` by each maker.
std::vector<std::function<Layout(const Extents&)>> makers() {
  return {
      [](const Extents& e) { return blocks(e, std::vector<int>(e.size(), 1)); },
      [](const Extents& e) { return slabs(e, 0, 3); },
      [](const Extents& e) {
        return pencils(e, 1, {2, 2});
      },
      [](const Extents& e) {
        return file_domains(e, 1, {0, 1}, 2, 0, 0);
      },
      [](const Extents& e) {
        return cyclic_domains(e, 1, {0, 1}, 2, most, 0);
      },
      [](const Extents& e) { return from_boxes(e, {{}}); },
  };
}

TEST(Layout, ProductsOfExtentsAreChecked) {
  const std::vector<Extents> too_large{
      {std::ptrdiff_t{1} << 40, std::ptrdiff_t{1} << 40, std::ptrdiff_t{1} << 40},
      {std::ptrdiff_t{1} << 32, std::ptrdiff_t{1} << 32, 1},  // 0, where 64 bits overflow
      {0, std::ptrdiff_t{1} << 32, std::ptrdiff_t{1} << 32},  // strides overflow
      {most, 2, 1},
      {1, 1, PTRDIFF_MAX},
  };
  for (std::size_t m = 0; m < makers().size(); ++m) {
    SCOPED_TRACE(m);
    for (const auto& extents : too_large) {
      try {
        makers()[m](extents);
        ADD_FAILURE() << extents[0] << " x " << extents[1] << " x " << extents[2];
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::invalid_input);
        EXPECT_NE(std::string(error.what()).find(std::to_string(extents[2])), std::string::npos);
      }
    }
    EXPECT_NO_THROW(makers()[m]({most, 1, 1}));
  }
  EXPECT_THROW(triangle((std::ptrdiff_t{1} << 28) + 1, 2), Error);
  EXPECT_THROW(blocks({4, 4, 4}, {1 << 22, 1 << 22, 1 << 22}), Error);  // ranks
  const Box far{3, {}, {std::ptrdiff_t{1} << 32, std::ptrdiff_t{1} << 32, 1}};
  EXPECT_FALSE(far.empty());
  EXPECT_EQ(far.num_items(), PTRDIFF_MAX);
  EXPECT_THROW(from_boxes({4, 4, 4}, {{far}}), Error);
}

TEST(Layout, TakesBracesArraysVectorsAndSpans) {
  const std::array<std::ptrdiff_t, 3> array{7, 8, 9};
  std::array<std::ptrdiff_t, 3> changeable = array;
  const std::ptrdiff_t plain[] = {7, 8, 9};
  const Extents vector{7, 8, 9};
  const std::span<const std::ptrdiff_t> span(vector);
  const std::span<std::ptrdiff_t, 3> fixed(changeable);
  const ListOf<std::ptrdiff_t> list(vector);
  const int n = 7;  // braces take narrower integers, too
  const std::vector<Layout> all{slabs({7, 8, 9}, 0, 3),
                                slabs({n, n + 1, 9}, 0, 3),
                                slabs(array, 0, 3),
                                slabs(changeable, 0, 3),
                                slabs(plain, 0, 3),
                                slabs(vector, 0, 3),
                                slabs(Extents{7, 8, 9}, 0, 3),
                                slabs(span, 0, 3),
                                slabs(fixed, 0, 3),
                                slabs(list, 0, 3),
                                blocks({7, 8, 9}, {3, 1, 1})};
  const std::vector<std::vector<Box>> expected{
      {{3, {0, 0, 0}, {3, 8, 9}}}, {{3, {3, 0, 0}, {2, 8, 9}}}, {{3, {5, 0, 0}, {2, 8, 9}}}};
  for (const auto& layout : all) EXPECT_EQ(boxes_of(layout), expected);

  EXPECT_EQ(boxes_of(slabs({5}, 0, 2)), boxes_of(slabs(Extents{5}, 0, 2)));
  EXPECT_EQ(boxes_of(pencils({7, 8, 9}, 1, {2, 3})),
            boxes_of(pencils(vector, 1, std::array{2, 3})));
  const std::vector<int> writers{1, 2};
  EXPECT_EQ(boxes_of(file_domains({7, 8, 9}, 8, {1, 2}, 4, 256, 0)),
            boxes_of(file_domains(vector, 8, writers, 4, 256, 0)));
  EXPECT_EQ(boxes_of(cyclic_domains({7, 8, 9}, 8, {1, 2}, 4, 256, 0)),
            boxes_of(cyclic_domains(vector, 8, writers, 4, 256, 0)));
  const auto own = from_boxes({4, 6}, {{{2, {0, 0}, {4, 2}}}, {{2, {0, 2}, {4, 4}}}});
  EXPECT_EQ(own.num_items(0), 8);
  EXPECT_EQ(own.num_items(1), 16);

  const auto box = own.boxes(1)[0];
  EXPECT_EQ(Memory::dense({box}).num_items, Memory::dense(own.boxes(1)).num_items);
  EXPECT_EQ(Memory::ordered(box, {1, 0}, {1, 1}).num_items, 36);
  EXPECT_EQ(Memory::ordered(box, {1, 0}).num_items, 16);
  EXPECT_NE(refusal_of([] { slabs({}, 0, 2); }), "accepted");
}

}  // namespace
}  // namespace tailrace
