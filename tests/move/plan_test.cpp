// SPDX-License-Identifier: BSD-3-Clause
// Plans without MPI, for a few ranks against a comparison of all boxes, and for 100,000 ranks.
#include "tailrace/more/plan.hpp"

#include <chrono>
#include <cstdio>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace {
namespace {

using Extents = std::vector<std::ptrdiff_t>;

std::vector<Piece> sends_by_comparing_all(const Layout& from, const Layout& to, int rank) {
  std::vector<Piece> pieces;
  for (int peer = 0; peer < to.num_ranks(); ++peer) {
    const auto own = from.boxes(rank);
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (const auto& box : to.boxes(peer)) {
        const auto shared = intersect(own[i], box);
        if (!shared.empty()) pieces.push_back({peer, static_cast<int>(i), shared});
      }
    }
  }
  return pieces;
}

/// What each rank sends is what an all-to-all comparison finds, and what the peer expects, in
/// order.
void check_all_ranks(const Layout& from, const Layout& to) {
  SCOPED_TRACE(from.describe() + " to " + to.describe());
  std::vector<Plan> plans;
  for (int rank = 0; rank < from.num_ranks(); ++rank) plans.emplace_back(from, to, rank);
  std::ptrdiff_t moved = 0;
  for (const auto& plan : plans) {
    const auto wanted = sends_by_comparing_all(from, to, plan.rank());
    ASSERT_EQ(plan.sends().size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(plan.sends()[i].peer, wanted[i].peer);
      EXPECT_EQ(plan.sends()[i].local_box, wanted[i].local_box);
      EXPECT_EQ(plan.sends()[i].box, wanted[i].box);
    }
    for (const auto& peer : plans) {
      std::vector<Box> sent;
      std::vector<Box> expected;
      for (const auto& piece : plan.sends()) {
        if (piece.peer == peer.rank()) sent.push_back(piece.box);
      }
      for (const auto& piece : peer.receives()) {
        if (piece.peer == plan.rank()) expected.push_back(piece.box);
      }
      EXPECT_EQ(sent, expected) << plan.rank() << " to " << peer.rank();
    }
    for (const auto& [peer, bytes] : plan.bytes(4)) moved += bytes / 4;
  }
  std::ptrdiff_t held = 0;
  for (int rank = 0; rank < to.num_ranks(); ++rank) held += to.num_items(rank);
  EXPECT_EQ(moved, held);
}

TEST(Plan, AgreesWithAComparisonOfAllBoxes) {
  const Extents uneven{7, 8, 9};
  const std::vector<int> grid{2, 3};
  const std::vector<int> writers{1, 4};
  const std::vector<int> everyone{0, 1, 2, 3, 4, 5};
  const std::vector<int> block_grid{3, 1, 2};
  const std::vector<Layout> layouts{
      slabs(uneven, 0, 6),
      slabs(uneven, 2, 6),
      pencils(uneven, 0, grid),
      pencils(uneven, 1, grid),
      pencils(uneven, 2, grid),
      blocks(uneven, block_grid),
      file_domains(uneven, 8, writers, 6, 512, 100),
      file_domains(uneven, 8, everyone, 6, 0, 0),
      file_domains(uneven, 3, everyone, 6, 128, 130),
      file_domains(uneven, 8, everyone, 6, 1 << 20, 0),
  };
  for (const auto& from : layouts) {
    for (const auto& to : layouts) check_all_ranks(from, to);
  }
}

TEST(Plan, SeveralBoxesARankAndHoles) {
  const Extents extents{12, 10};
  std::vector<std::vector<Box>> boxes(5);
  int next = 0;
  for (std::ptrdiff_t i = 0; i < 12; i += 2) {
    for (std::ptrdiff_t j = 0; j < 10; j += 3) {
      boxes[static_cast<std::size_t>(next++ * 3 % 5)].push_back(
          {2, {i, j}, {2, std::min<std::ptrdiff_t>(3, 10 - j)}});
    }
  }
  const auto dealt = from_boxes(extents, boxes);
  check_all_ranks(dealt, slabs(extents, 0, 5));
  check_all_ranks(slabs(extents, 1, 5), dealt);
  check_all_ranks(dealt, dealt);
}

TEST(Plan, MoreRanksThanRows) {
  const Extents thin{3, 2, 4};
  check_all_ranks(slabs(thin, 0, 7), slabs(thin, 1, 7));
  const Extents one{1, 1, 1};
  check_all_ranks(slabs(one, 0, 4), slabs(one, 2, 4));
  const Extents none{0, 5};
  check_all_ranks(slabs(none, 0, 3), slabs(none, 1, 3));
}

TEST(Plan, RefusesLayoutsThatDoNotMatch) {
  const Extents extents{4, 4};
  const Extents other{4, 5};
  EXPECT_THROW(Plan(slabs(extents, 0, 2), slabs(extents, 0, 3), 0), Error);
  EXPECT_THROW(Plan(slabs(extents, 0, 2), slabs(other, 0, 2), 0), Error);
  EXPECT_THROW(Plan(slabs(extents, 0, 2), slabs(extents, 0, 2), 2), Error);
}

TEST(Plan, TellsItsBytes) {
  const Extents extents{4, 6};
  const Plan plan(slabs(extents, 0, 2), slabs(extents, 1, 2), 1);
  const std::vector<std::pair<int, std::ptrdiff_t>> row{{0, 48}, {1, 48}};
  EXPECT_EQ(plan.bytes(8), row);
  EXPECT_NE(plan.describe(8).find("sends 48 bytes to 1 other"), std::string::npos)
      << plan.describe(8);
}

/// Plans of every `step`-th rank of a hundred thousand; prints the mean cost.
void check_at_scale(const char* label, const Layout& from, const Layout& to, int step) {
  const auto begin = std::chrono::steady_clock::now();
  std::size_t pieces = 0;
  std::ptrdiff_t plans = 0;
  for (int rank = 0; rank < from.num_ranks(); rank += step, ++plans) {
    const Plan plan(from, to, rank);
    pieces += plan.sends().size() + plan.receives().size();
    std::ptrdiff_t sent = 0;
    for (const auto& [peer, bytes] : plan.bytes(1)) sent += bytes;
    ASSERT_EQ(sent, from.num_items(rank)) << label << " rank " << rank;
    std::ptrdiff_t received = 0;
    for (const auto& piece : plan.receives()) received += piece.box.num_items();
    ASSERT_EQ(received, to.num_items(rank)) << label << " rank " << rank;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::printf(
      "PERF label=plan.%s ranks=%d plans=%td pieces_a_plan=%.1f us_a_plan=%.2f us_a_piece=%.3f\n",
      label, from.num_ranks(), plans, static_cast<double>(pieces) / static_cast<double>(plans),
      1e6 * elapsed.count() / static_cast<double>(plans),
      1e6 * elapsed.count() / static_cast<double>(pieces));
}

TEST(Plan, AHundredThousandRanks) {
  const Extents cube{4096, 4096, 4096};
  const std::vector<int> grid{250, 400};
  check_at_scale("pencils", pencils(cube, 2, grid), pencils(cube, 1, grid), 100);
  check_at_scale("pencils_z", pencils(cube, 1, grid), pencils(cube, 0, grid), 100);
  const std::vector<int> block_grid{40, 50, 50};
  std::vector<int> writers;
  for (int writer = 0; writer < 64; ++writer) writers.push_back(writer * 1562);
  check_at_scale("blocks_to_64_writers", blocks(cube, block_grid),
                 file_domains(cube, 8, writers, 100000, 1 << 20, 2048), 99);
  check_at_scale("64_readers_to_blocks", file_domains(cube, 8, writers, 100000, 1 << 20, 2048),
                 blocks(cube, block_grid), 99);
  check_at_scale("blocks_to_pencils", blocks(cube, block_grid), pencils(cube, 2, grid), 100);
  const Extents small{64, 64, 64};
  check_at_scale("more_ranks_than_rows", slabs(small, 0, 100000), slabs(small, 2, 100000), 1);
}

TEST(Plan, AHundredThousandListedBoxes) {
  const Extents square{1000, 800};
  const std::vector<int> grid{250, 400};
  const auto regular = blocks(square, grid);
  std::vector<std::vector<Box>> boxes(100000);
  for (int rank = 0; rank < 100000; ++rank) {
    boxes[static_cast<std::size_t>((rank * 7919LL) % 100000)] = regular.boxes(rank);
  }
  const auto listed = from_boxes(square, std::move(boxes));
  const std::vector<int> turned{400, 250};
  check_at_scale("listed_boxes", listed, blocks(square, turned), 10);
}

}  // namespace
}  // namespace tailrace
