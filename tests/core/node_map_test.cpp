// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/node_map.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "core/wait.hpp"

namespace tailrace {
namespace {

TEST(NodeMap, NumbersNodesByTheirLowestRank) {
  const NodeMap map({7, 7, 3, 7, 3}, {0, 1, 0, 0, 1});
  EXPECT_EQ(map.num_nodes(), 2);
  EXPECT_EQ(map.node_of(0), 0);
  EXPECT_EQ(map.node_of(4), 1);
  EXPECT_EQ(std::vector<int>(map.ranks_on(0).begin(), map.ranks_on(0).end()),
            (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(map.domain_of(1), 1);
  EXPECT_EQ(map.most_ranks(), 3);
  EXPECT_FALSE(map.is_regular());
  EXPECT_EQ(map.describe(), "5 ranks on 2 nodes, 2 to 3 each");
}

TEST(NodeMap, KnowsBlocksOfEqualSize) {
  EXPECT_TRUE(NodeMap({0, 0, 1, 1}).is_regular());
  EXPECT_FALSE(NodeMap({0, 1, 0, 1}).is_regular());
  EXPECT_EQ(NodeMap({0, 0, 1, 1}).describe(), "4 ranks on 2 nodes, 2 each, in blocks");
  EXPECT_EQ(NodeMap().describe(), "1 rank on one node");
}

TEST(NodeMap, PartsOfANodeAreTheSameForEveryCommunicator) {
  const Comm world(MPI_COMM_WORLD);
  setenv("TAILRACE_RANKS_PER_NODE", "2", 1);
  const NodeMap map(world);
  const Comm evens = world.split(world.rank() % 2);
  const NodeMap of_evens(evens);
  unsetenv("TAILRACE_RANKS_PER_NODE");
  ASSERT_EQ(map.num_ranks(), world.num_ranks());
  for (int rank = 0; rank < world.num_ranks(); ++rank) EXPECT_EQ(map.node_of(rank), rank / 2);
  EXPECT_EQ(of_evens.num_nodes(), of_evens.num_ranks());  // of each node one rank
}

TEST(WaitPolicy, SleepsInsteadOfSpinningWhereCoresAreShared) {
  const auto alone = choose_wait_policy({.ranks_on_node = 2, .cores = 2});
  EXPECT_TRUE(alone.inside_mpi);
  const auto crowded = choose_wait_policy({.ranks_on_node = 16, .cores = 2});
  EXPECT_FALSE(crowded.inside_mpi);
  EXPECT_LT(crowded.spins, alone.spins);
  EXPECT_GT(alone.looks, 0);  // a yield takes longer than what is waited for
  EXPECT_EQ(crowded.looks, 0);
  const auto yielding = choose_wait_policy(
      {.ranks_on_node = 16, .cores = 2, .yield_works = true, .mpi_yields = true});
  EXPECT_TRUE(yielding.inside_mpi);
  const auto simulated = choose_wait_policy({.ranks_on_node = 64, .cores = 2, .simulated = true});
  EXPECT_FALSE(simulated.sleeps);
  EXPECT_EQ(simulated.looks, 0);
  const WaitFacts both{.ranks_on_node = 2, .cores = 2, .yield_works = true};
  EXPECT_NE(describe(both, choose_wait_policy(both)).find("poll 20 times, yield up to 300 times"),
            std::string::npos);
}

TEST(WaitPolicy, WaitsForRequestsByTestsAndNapsToo) {
  const Comm world(MPI_COMM_WORLD);
  for (const bool inside_mpi : {true, false}) {
    WaitPolicy policy;
    policy.inside_mpi = inside_mpi;
    const int to = (world.rank() + 1) % world.num_ranks();
    const int from = (world.rank() + world.num_ranks() - 1) % world.num_ranks();
    int got[2] = {-1, -1};
    const int sent = world.rank();
    MPI_Request requests[4];
    for (int i = 0; i < 2; ++i) {
      MPI_Irecv(&got[i], 1, MPI_INT, from, i, world.raw(), &requests[i]);
      MPI_Isend(&sent, 1, MPI_INT, to, i, world.raw(), &requests[2 + i]);
    }
    EXPECT_NE(wait_for_any(std::span(requests, 2), policy), MPI_UNDEFINED);
    wait_for_all(requests, policy);
    EXPECT_EQ(wait_for_any(requests, policy), MPI_UNDEFINED);
    MPI_Request barrier = MPI_REQUEST_NULL;
    MPI_Ibarrier(world.raw(), &barrier);
    wait_for(barrier, policy);
    EXPECT_EQ(barrier, MPI_REQUEST_NULL);
    EXPECT_EQ(got[0], from);
    EXPECT_EQ(got[1], from);
  }
}

}  // namespace
}  // namespace tailrace
