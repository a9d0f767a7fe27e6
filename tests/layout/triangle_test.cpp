// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {
namespace {

/// Items of the vectors of 8 that a box's rows are computed in, on and right of the diagonal.
std::ptrdiff_t computed(const Box& box) {
  std::ptrdiff_t items = 0;
  for (std::ptrdiff_t row = 0; row < box.extents[0]; ++row) {
    const auto first = box.start[0] == box.start[1] ? row : 0;
    items += (box.extents[1] + 7) / 8 * 8 - first / 8 * 8;
  }
  return items;
}

/// Items that the busiest rank computes, and all.
struct Shares {
  std::ptrdiff_t most = 0, total = 0;

  Shares(const Layout& layout) : num_ranks(layout.num_ranks()) {
    for (int rank = 0; rank < num_ranks; ++rank) {
      std::ptrdiff_t mine = 0;
      for (const auto& box : layout.boxes(rank)) mine += computed(box);
      most = std::max(most, mine);
      total += mine;
    }
  }
  int num_ranks;

  /// The busiest rank's over the mean.
  double imbalance() const {
    return static_cast<double>(most) * num_ranks / static_cast<double>(total);
  }
};

/// The vectors that no layout of blocks can do without: those of each row, begun at its end.
std::ptrdiff_t fewest_vectors(std::ptrdiff_t n) {
  std::ptrdiff_t vectors = 0;
  for (std::ptrdiff_t length = 1; length <= n; ++length) vectors += (length + 7) / 8;
  return vectors;
}

TEST(Triangle, HoldsEachItemOnceAndSharesThemEvenly) {
  const std::ptrdiff_t n = 160;
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 10, 15, 21}) {
    SCOPED_TRACE(ranks);
    const Layout layout = triangle(n, ranks);
    std::vector<int> held(static_cast<std::size_t>(n * n));
    std::ptrdiff_t total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const auto& box : layout.boxes(rank)) {
        for (auto i = box.start[0]; i < box.start[0] + box.extents[0]; ++i) {
          for (auto j = box.start[1]; j < box.start[1] + box.extents[1]; ++j) {
            ++held[static_cast<std::size_t>(i * n + j)];
            total += j >= i ? 1 : 0;
          }
        }
      }
    }
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      for (auto j = i; j < n; ++j) ASSERT_EQ(held[static_cast<std::size_t>(i * n + j)], 1);
    }
    EXPECT_LE(*std::max_element(held.begin(), held.end()), 1);
    EXPECT_EQ(total, n * (n + 1) / 2);
    EXPECT_LE(Shares(layout).imbalance(), 1.013);  // 21 ranks have 80 vectors, or 81
  }
}

TEST(Triangle, IsMadeOfSquaresOnTheDiagonal) {
  const Layout layout = triangle(50, 4);
  for (int rank = 0; rank < 4; ++rank) {
    for (const auto& box : layout.boxes(rank)) {
      EXPECT_LE(box.start[0], box.start[1]);
      if (box.start[0] == box.start[1]) {
        EXPECT_EQ(box.extents[0], box.extents[1]);
      } else {
        EXPECT_LE(box.start[0] + box.extents[0], box.start[1]);
      }
    }
  }
}

TEST(Triangle, TheBusiestRankHasAtMost3PercentMore) {
  for (std::ptrdiff_t n = 48; n <= 400; ++n) {
    const auto fewest = fewest_vectors(n);
    for (const int ranks : {2, 3, 4, 5, 6, 7, 10}) {
      const Shares shares(triangle(n, ranks));
      const auto most = shares.most / 8, least = (fewest + ranks - 1) / ranks;
      const auto text = fmt::format("{} rows on {} ranks: {} vectors", n, ranks, most);
      if (n > 64 || ranks <= 6) {
        EXPECT_LE(shares.imbalance(), 1.03) << text;
        // Vectors in vain, where blocks meet, would hide behind the mean.
        EXPECT_LE(static_cast<double>(most), 1.06 * static_cast<double>(least)) << text;
      } else {  // few vectors for each
        EXPECT_LE(most, least + 2) << text;
      }
    }
  }
}

TEST(Triangle, TwoRanksHaveABlockOnTheDiagonalEachAndHalfOfTheOther) {
  const Layout layout = triangle(160, 2);
  for (int rank = 0; rank < 2; ++rank) {
    const auto boxes = layout.boxes(rank);
    ASSERT_EQ(boxes.size(), 2u);
    EXPECT_EQ(boxes[0].num_items() + boxes[1].num_items(), 80 * 80 + 40 * 80);
  }
}

TEST(Triangle, SmallOnesLeaveRanksWithoutItems) {
  std::ptrdiff_t items = 0;
  for (int rank = 0; rank < 9; ++rank) items += triangle(3, 9).num_items(rank);
  EXPECT_EQ(items, 9);
  EXPECT_THROW(triangle(0, 1), Error);
  EXPECT_THROW(triangle(4, 0), Error);
}

}  // namespace
}  // namespace tailrace
