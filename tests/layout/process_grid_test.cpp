// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/process_grid.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {
namespace {

using Grid = std::array<int, 2>;

NodeMap blocks_of(int nodes, int ranks_per_node) {
  std::vector<int> node_of;
  for (int node = 0; node < nodes; ++node) {
    node_of.insert(node_of.end(), static_cast<std::size_t>(ranks_per_node), node);
  }
  return NodeMap(node_of);
}
NodeMap one_by_one(int nodes, int ranks_per_node) {
  std::vector<int> node_of;
  for (int rank = 0; rank < nodes * ranks_per_node; ++rank) node_of.push_back(rank % nodes);
  return NodeMap(node_of);
}
GridProblem cube(std::ptrdiff_t n) { return {{n, n, n}, {}, 16, {0, 0}}; }

bool says(const GridChoice& choice, const std::string& words) {
  return choice.why.find(words) != std::string::npos;
}

TEST(ProcessGrid, OneNodeTakesSlabsWhilePlanesLast) {
  for (const int ranks : {1, 2, 3, 4, 7, 16, 48, 64}) {
    const auto choice = choose_process_grid(cube(256), blocks_of(1, ranks));
    EXPECT_EQ(choice.grid, (Grid{ranks, 1})) << choice.why;
    EXPECT_EQ(choice.columns.leaving_bytes, 0);
  }
  const auto alone = choose_process_grid(cube(256), blocks_of(1, 1));
  EXPECT_EQ(alone.why, "1 x 1 for 1 rank on one node: no exchange");
  const auto more_ranks = choose_process_grid(cube(16), blocks_of(1, 64));
  EXPECT_EQ(more_ranks.grid, (Grid{16, 4})) << more_ranks.why;
  EXPECT_TRUE(says(more_ranks, "too few planes")) << more_ranks.why;
  EXPECT_EQ(choose_process_grid(cube(4), blocks_of(1, 6)).grid, (Grid{3, 2}));  // no idle rank
  EXPECT_EQ(choose_process_grid({{2, 64, 64}, {}, 16, {}}, blocks_of(1, 16)).grid, (Grid{2, 8}));
  // Modes that are dropped count: 64 planes, but only 21 rows of modes for the last stage.
  EXPECT_EQ(choose_process_grid({{64, 64, 64}, {64, 21, 22}, 16, {}}, blocks_of(1, 64)).grid,
            (Grid{8, 8}));
}

TEST(ProcessGrid, SeveralNodesHaveTheirRowsOnANode) {
  const int shapes[][2] = {{2, 2}, {2, 4}, {3, 2}, {4, 16}, {5, 6}, {128, 16}, {3, 7}};
  for (const auto& [nodes, each] : shapes) {
    const auto choice = choose_process_grid(cube(512), blocks_of(nodes, each));
    EXPECT_EQ(choice.grid, (Grid{nodes, each})) << choice.why;
    EXPECT_EQ(choice.rows.nodes, 1);
    EXPECT_EQ(choice.rows.leaving_bytes, 0);
    EXPECT_EQ(choice.rows.messages, 0);
    EXPECT_EQ(choice.columns.messages, nodes - 1);
    EXPECT_TRUE(says(choice, "stays on a node")) << choice.why;
  }
}

TEST(ProcessGrid, MoreNodesThanPlanesHaveRowsOnNodePairs) {
  const auto choice = choose_process_grid(cube(64), blocks_of(128, 4));
  EXPECT_EQ(choice.grid, (Grid{64, 8})) << choice.why;
  EXPECT_EQ(choice.rows.nodes, 2);
  EXPECT_GT(choice.rows.leaving_bytes, 0);
}

TEST(ProcessGrid, OneRankANodeIsASlab) {
  const auto choice = choose_process_grid(cube(64), blocks_of(16, 1));
  EXPECT_EQ(choice.grid, (Grid{16, 1})) << choice.why;
  EXPECT_TRUE(says(choice, "no exchange in rows")) << choice.why;
}

TEST(ProcessGrid, RanksThatGoRoundTheNodesKeepTheirColumns) {
  // Rank i on node i % 4: with 4 columns, or 8, the ranks of a column share a node.
  const auto choice = choose_process_grid(cube(64), one_by_one(4, 4));
  EXPECT_EQ(choice.grid, (Grid{4, 4})) << choice.why;
  EXPECT_EQ(choice.columns.nodes, 1);
  EXPECT_EQ(choice.rows.nodes, 4);
}

TEST(ProcessGrid, ScatteredRanksAreTold) {
  const NodeMap scattered({0, 1, 1, 0, 1, 0, 0, 1});
  const auto choice = choose_process_grid(cube(64), scattered);
  EXPECT_GT(choice.rows.nodes + choice.columns.nodes, 2);
  EXPECT_TRUE(says(choice, "placed in blocks")) << choice.why;
  EXPECT_TRUE(says(choice, "rows of 4")) << choice.why;
}

TEST(ProcessGrid, PrimeNumbersAndUnevenNodes) {
  const auto prime = choose_process_grid(cube(64), NodeMap({0, 0, 0, 0, 1, 1, 1}));
  EXPECT_TRUE(prime.grid == (Grid{7, 1}) || prime.grid == (Grid{1, 7})) << prime.why;
  // More ranks than planes: some stay idle, but it runs.
  const auto idle = choose_process_grid(cube(4), blocks_of(1, 13));
  EXPECT_EQ(idle.grid, (Grid{13, 1})) << idle.why;
  EXPECT_TRUE(says(idle, "uneven")) << idle.why;
  // 4 + 2 ranks: rows of two are on a node.
  const auto uneven = choose_process_grid(cube(64), NodeMap({0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(uneven.grid, (Grid{3, 2})) << uneven.why;
  EXPECT_EQ(uneven.rows.nodes, 1);
}

TEST(ProcessGrid, CanBeSetByHand) {
  auto problem = cube(64);
  problem.grid = {8, 1};
  const auto choice = choose_process_grid(problem, blocks_of(2, 4));
  EXPECT_EQ(choice.grid, (Grid{8, 1}));
  EXPECT_TRUE(says(choice, "8 x 1 (set by hand) for 8 ranks on 2 nodes")) << choice.why;
  problem.grid = {3, 3};
  EXPECT_THROW(choose_process_grid(problem, blocks_of(2, 4)), Error);
  problem.grid = {8, 0};
  EXPECT_THROW(choose_process_grid(problem, blocks_of(2, 4)), Error);
  EXPECT_THROW(choose_process_grid({{0, 1, 1}, {}, 16, {}}, blocks_of(1, 1)), Error);
}

// The figures against the plans of the exchanges themselves.
TEST(ProcessGrid, BytesAndMessagesAreThoseOfThePlans) {
  const std::vector<std::ptrdiff_t> extents{7, 9, 10};
  const NodeMap nodes({0, 1, 1, 0, 2, 0, 2, 2, 1, 0, 0, 1});
  for (const Grid grid : {Grid{12, 1}, Grid{4, 3}, Grid{3, 4}, Grid{2, 6}, Grid{1, 12}}) {
    const auto choice = choose_process_grid({{7, 9, 10}, {}, 8, grid}, nodes);
    const Layout stages[] = {pencils(extents, 2, grid), pencils(extents, 1, grid),
                             pencils(extents, 0, grid)};
    const GridExchange exchanges[] = {choice.rows, choice.columns};
    for (std::size_t e = 0; e < 2; ++e) {
      std::vector<double> leaving(3, 0.0);
      for (int rank = 0; rank < 12; ++rank) {
        for (const auto& box : stages[e].boxes(rank)) {
          for (const auto& overlap : stages[e + 1].overlaps(box)) {
            if (nodes.node_of(overlap.rank) == nodes.node_of(rank)) continue;
            leaving[static_cast<std::size_t>(nodes.node_of(rank))] +=
                8.0 * static_cast<double>(overlap.shared.num_items());
          }
        }
      }
      EXPECT_DOUBLE_EQ(exchanges[e].leaving_bytes,
                       *std::max_element(leaving.begin(), leaving.end()))
          << grid[0] << " x " << grid[1];
    }
  }
}

TEST(ProcessGrid, IsMadeForManyRanksInNoTime) {
  const auto choice = choose_process_grid(cube(8192), blocks_of(1024, 64));
  EXPECT_EQ(choice.grid, (Grid{1024, 64})) << choice.why;
}

}  // namespace
}  // namespace tailrace
