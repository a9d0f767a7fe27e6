// SPDX-License-Identifier: BSD-3-Clause
// Who serves on many machines, without MPI.
#include "server/policy/roles.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

using Kind = Team::Kind;

/// Nodes of `ranks[n]` ranks each, filled one after another, with a slow disk.
JobResources machine(const std::vector<int>& ranks, int cores) {
  JobResources found;
  for (int node = 0; node < static_cast<int>(ranks.size()); ++node) {
    for (int i = 0; i < ranks[static_cast<std::size_t>(node)]; ++i) {
      found.node_of_rank.push_back(node);
    }
  }
  found.cores_of_node.assign(ranks.size(), cores);
  found.disk_bytes_per_s = 0.2e9;
  found.disk_busy = 0.1;
  found.memory_bytes_per_s = 8e9;
  return found;
}

OutputOptions servers(const std::string& text) {
  OutputOptions options;
  options.servers = text;
  return options;
}

Roles decide(const std::string& text, const JobResources& found) {
  return decide_roles(servers(text), found);
}

void expect_refused(const OutputOptions& options, const JobResources& found,
                    const std::string& part) {
  try {
    decide_roles(options, found);
    ADD_FAILURE() << "not refused: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

bool says(const Roles& roles, const std::string& part) {
  return roles.reason.find(part) != std::string::npos;
}

TEST(RolesTest, NoneThreadAndProcess) {
  const auto one = machine({4}, 2);
  const auto none = decide("none", one);
  EXPECT_EQ(none.kind, Kind::none);
  EXPECT_TRUE(none.server_ranks.empty());
  EXPECT_FALSE(none.by_node);
  EXPECT_EQ(decide("hidden", one).kind, Kind::hidden);
  EXPECT_TRUE(decide("hidden", one).server_ranks.empty());
  const auto three = machine({3, 3, 2}, 4);
  const auto thread = decide("thread", three);
  EXPECT_EQ(thread.kind, Kind::thread);
  EXPECT_EQ(thread.server_ranks, (std::vector<int>{0, 3, 6}));
  EXPECT_TRUE(thread.by_node);
  const auto process = decide(" process ", one);
  EXPECT_EQ(process.kind, Kind::process);
  EXPECT_EQ(process.server_ranks, std::vector<int>{0});
  EXPECT_TRUE(process.by_node);
  expect_refused(servers("process"), machine({2, 2}, 2),
                 "on one node, and these ranks are on 2; use \"1 per node\"");
}

TEST(RolesTest, AutoOnSeveralNodes) {
  for (const auto& ranks : {std::vector<int>{1, 1}, {2, 2}, {2, 1}, {16, 16, 3}}) {
    for (const int cores : {1, 64}) {  // none is idle, all are
      EXPECT_EQ(decide("auto", machine(ranks, cores)).kind, Kind::thread);
    }
  }
  const auto idle = decide("auto", machine({20, 20}, 64));
  EXPECT_EQ(idle.kind, Kind::thread) << idle.reason;
  const auto busy = decide("auto", machine({20, 20}, 20));
  EXPECT_EQ(busy.server_ranks, (std::vector<int>{19, 39}));
  EXPECT_TRUE(says(busy, "no core is idle and a rank of 20 is a small")) << busy.reason;
}

TEST(RolesTest, WordsThatAreNone) {
  const auto one = machine({4}, 2);
  for (const char* wrong : {"", " ", "tree", "0", "-1", "2.5", "2 per", "per node", "1 per nodes",
                            "99999999999", "1  per node", "0 per node"}) {
    expect_refused(servers(wrong), one, "must be \"none\", \"hidden\", \"thread\", \"process\", ");
  }
  auto options = servers("1");
  options.placement = "last";
  expect_refused(options, one, "placement = \"last\": must be \"spread\" or \"own_nodes\"");
}

TEST(RolesTest, ServersOfOneNodeAreSpreadOverItsRanks) {
  const auto one = machine({8}, 8);
  EXPECT_EQ(decide("1", one).server_ranks, std::vector<int>{7});
  EXPECT_EQ(decide("2", one).server_ranks, (std::vector<int>{3, 7}));
  EXPECT_EQ(decide("2 per node", one).server_ranks, (std::vector<int>{3, 7}));
  EXPECT_EQ(decide("7", one).server_ranks.size(), 7u);
  EXPECT_EQ(decide("7", one).server_ranks.front(), 1) << "rank 0 computes";
  EXPECT_FALSE(decide("2", one).by_node);
  expect_refused(servers("8"), one, "at most 7 can serve");
  expect_refused(servers("8 per node"), one, "node 0 has 8 ranks");
}

TEST(RolesTest, OneRankCannotServe) {
  const auto one = machine({1}, 2);
  expect_refused(servers("1"), one, "none can serve; use \"thread\"");
  expect_refused(servers("1 per node"), one, "node 0 has 1 ranks");
  EXPECT_EQ(decide("thread", one).server_ranks, std::vector<int>{0});
}

TEST(RolesTest, EveryNodeGivesItsShare) {
  const auto cluster = machine(std::vector<int>(64, 128), 128);
  const auto one = decide("1 per node", cluster);
  const auto same = decide("64", cluster);
  ASSERT_EQ(one.server_ranks.size(), 64u);
  EXPECT_EQ(one.server_ranks, same.server_ranks);
  for (int node = 0; node < 64; ++node) {
    EXPECT_EQ(one.server_ranks[static_cast<std::size_t>(node)], 128 * node + 127);
  }
  const auto eight = decide("8", cluster);
  std::vector<int> nodes;
  for (const int rank : eight.server_ranks) nodes.push_back(rank / 128);
  EXPECT_EQ(nodes, (std::vector<int>{7, 15, 23, 31, 39, 47, 55, 63}));
}

TEST(RolesTest, RanksDealtOutOverNodesInTurn) {
  JobResources found = machine({4, 4}, 4);
  found.node_of_rank = {0, 1, 0, 1, 0, 1, 0, 1};
  EXPECT_EQ(decide("1 per node", found).server_ranks, (std::vector<int>{6, 7}));
  EXPECT_EQ(decide("2", found).server_ranks, (std::vector<int>{6, 7}));
  EXPECT_EQ(decide("thread", found).server_ranks, (std::vector<int>{0, 1}));
}

TEST(RolesTest, UnevenNodes) {
  const auto found = machine({8, 2, 8}, 8);
  const auto two = decide("1 per node", found);
  EXPECT_EQ(two.server_ranks, (std::vector<int>{7, 9, 17}));
  EXPECT_EQ(decide("2", found).server_ranks, (std::vector<int>{8, 17}));
  expect_refused(servers("2 per node"), found, "node 1 has 2 ranks");
}

TEST(RolesTest, NodesOfTheirOwn) {
  auto options = servers("8");
  options.placement = "own_nodes";
  const auto found = machine({8, 8, 4, 4}, 8);
  std::vector<int> last(8);
  std::iota(last.begin(), last.end(), 16);
  EXPECT_EQ(decide_roles(options, found).server_ranks, last);
  options.servers = "5";
  expect_refused(options, found, "the last nodes hold 4, 8 ranks");
  options.servers = "1 per node";
  expect_refused(options, found, "contradict each other");
  options.servers = "20";
  expect_refused(options, found, "the last nodes hold 4, 8, 16 ranks");
  options.servers = "1";
  expect_refused(options, machine({4}, 4), "needs at least two nodes");
  options.servers = "4";
  options.transport = "node";
  expect_refused(options, found, "transport = \"node\" needs a server and a compute rank on every");
}

TEST(RolesTest, ByNodeWithTransportNodeOnSeveralNodes) {
  auto options = servers("2 per node");
  options.transport = "node";
  EXPECT_FALSE(decide_roles(options, machine({8}, 8)).by_node);
  EXPECT_TRUE(decide_roles(options, machine({8, 8}, 8)).by_node);
  options.servers = "1";
  EXPECT_FALSE(decide_roles(options, machine({8}, 8)).by_node);
  expect_refused(options, machine({8, 8}, 8), "use servers = \"1 per node\"");
  options.transport = "pull";
  options.servers = "2 per node";
  EXPECT_FALSE(decide_roles(options, machine({8, 8}, 8)).by_node);
}

TEST(RolesTest, HelperThreadsNeedMpiForThreads) {
  auto options = servers("1");
  options.progress = "thread";
  auto found = machine({4}, 4);
  expect_refused(options, found, "needs MPI_THREAD_MULTIPLE");
  found.threads_may_call_mpi = true;
  EXPECT_EQ(decide_roles(options, found).server_ranks, std::vector<int>{3});
}

TEST(RolesTest, AutoOnALaptop) {
  // Two cores, four ranks: no rank to spare, and the disk waits most of the time.
  const auto full = decide("auto", machine({4}, 2));
  EXPECT_EQ(full.kind, Kind::thread);
  EXPECT_TRUE(says(full, "no rank to spare: node 0 has 2 cores for 4 ranks")) << full.reason;
  EXPECT_TRUE(
      says(full, "0.20 GB/s (with 10 % of the time on a processor), memory copies 8.0 GB/s"))
      << full.reason;
  // A core is idle.
  const auto idle = decide("auto", machine({1}, 2));
  EXPECT_EQ(idle.kind, Kind::thread);
  EXPECT_TRUE(says(idle, "a core is idle: node 0 has 2 cores for 1 ranks")) << idle.reason;
}

TEST(RolesTest, AutoOnADiskThatSwallowsEverything) {
  auto found = machine({4}, 8);
  found.disk_bytes_per_s = 5e9;
  found.disk_busy = 1;
  const auto fast = decide("auto", found);
  EXPECT_EQ(fast.kind, Kind::none);
  EXPECT_TRUE(says(fast, "nothing to hide")) << fast.reason;
  // Slower than memory, but all of it processor time, and every core computes.
  found.disk_bytes_per_s = 1e9;
  found.cores_of_node = {4};
  const auto busy = decide("auto", found);
  EXPECT_EQ(busy.kind, Kind::none);
  EXPECT_TRUE(says(busy, "would take that from the computation")) << busy.reason;
  // The same beside an idle core.
  found.cores_of_node = {8};
  EXPECT_EQ(decide("auto", found).kind, Kind::thread);
  // Ranks of several threads leave no core idle.
  found.threads_per_rank = 2;
  EXPECT_EQ(decide("auto", found).kind, Kind::none);
}

TEST(RolesTest, AutoWhereTheDiskCouldNotBeMeasured) {
  auto found = machine({4}, 4);
  found.disk_bytes_per_s = 0;
  found.disk_busy = 0;
  const auto roles = decide("auto", found);
  EXPECT_EQ(roles.kind, Kind::thread);
  EXPECT_TRUE(says(roles, "could not be measured")) << roles.reason;
}

TEST(RolesTest, AutoOnACluster) {
  const auto cluster = machine(std::vector<int>(64, 128), 128);
  const auto roles = decide("auto", cluster);
  EXPECT_EQ(roles.kind, Kind::ranks);
  EXPECT_EQ(roles.server_ranks, decide("1 per node", cluster).server_ranks);
  EXPECT_TRUE(says(roles, "a rank of 128 is a small loss")) << roles.reason;
  // With a core left free on each node, a thread costs no rank.
  auto spare = machine(std::vector<int>(64, 127), 128);
  EXPECT_EQ(decide("auto", spare).kind, Kind::thread);
  // One node without an idle core is enough for no thread.
  auto ranks = std::vector<int>(64, 127);
  ranks[5] = 128;
  spare = machine(ranks, 128);
  EXPECT_EQ(decide("auto", spare).kind, Kind::ranks);
  // A node of one rank that fills it has none to spare.
  auto found = machine({128, 1}, 128);
  found.cores_of_node[1] = 1;
  EXPECT_EQ(decide("auto", found).kind, Kind::thread);
}

}  // namespace
}  // namespace tailrace::server
