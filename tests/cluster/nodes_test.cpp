// SPDX-License-Identifier: BSD-3-Clause
// On several nodes: who shares one, and that every way of moving and reducing works between them.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "move/block_traffic.hpp"
#include "move/blocks/runner.hpp"
#include "move/numbered_items.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/more/node_map.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

/// Name of the node of every rank, as the operating system says.
std::vector<std::string> node_names(const Comm& comm) {
  std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  std::vector<char> all(own.size() * static_cast<std::size_t>(comm.num_ranks()));
  MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_CHAR, all.data(),
                static_cast<int>(own.size()), MPI_CHAR, comm.raw());
  std::vector<std::string> names;
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    names.emplace_back(all.data() + static_cast<std::size_t>(rank) * own.size());
  }
  return names;
}

/// Ranks of this rank's node, by its name.
std::vector<int> neighbours(const Comm& comm) {
  const auto names = node_names(comm);
  std::vector<int> ranks;
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (names[r] == names[static_cast<std::size_t>(comm.rank())]) ranks.push_back(rank);
  }
  return ranks;
}

TEST(Nodes, AreSeveralHere) {
  const Comm comm(MPI_COMM_WORLD);
  const auto names = node_names(comm);
  EXPECT_GT(std::set<std::string>(names.begin(), names.end()).size(), 1U);
}

TEST(Nodes, AreThoseOfTheOperatingSystem) {
  const Comm comm(MPI_COMM_WORLD);
  const NodeMap map(comm);
  const auto names = node_names(comm);
  ASSERT_EQ(map.num_ranks(), comm.num_ranks());
  EXPECT_EQ(map.num_nodes(), std::ssize(std::set<std::string>(names.begin(), names.end())));
  for (int a = 0; a < comm.num_ranks(); ++a) {
    for (int b = 0; b < comm.num_ranks(); ++b) {
      EXPECT_EQ(map.node_of(a) == map.node_of(b),
                names[static_cast<std::size_t>(a)] == names[static_cast<std::size_t>(b)]);
    }
  }
  const auto own = neighbours(comm);
  const auto seen = map.ranks_on(map.node_of(comm.rank()));
  EXPECT_TRUE(std::ranges::equal(own, seen));
  EXPECT_EQ(comm.node().num_ranks(), std::ssize(own));
  EXPECT_NE(map.describe().find(std::to_string(map.num_nodes()) + " nodes"), std::string::npos)
      << map.describe();
}

/// Names of ways of moving blocks, with the settings that their table proposes.
std::vector<std::string> block_specs() {
  std::vector<std::string> specs;
  for (const auto& method : block_method_table()) {
    specs.emplace_back(method.name);
    std::string word;
    for (const char c : std::string(method.variants) + " ") {
      if (c != ' ') {
        word += c;
      } else if (!word.empty()) {
        specs.push_back(std::exchange(word, ""));
      }
    }
  }
  return specs;
}

TEST(Blocks, ArriveByEveryMethod) {
  const Comm comm(MPI_COMM_WORLD);
  const Surroundings machine(comm);
  const BlockItems uneven = [](auto piece, int from, int to) { return 7 * from + 5 * to + piece; };
  const BlockItems large = [](auto, int from, int to) { return from == to ? 0 : 9000 + from; };
  std::set<std::string> used;
  for (const auto& spec : block_specs()) {
    for (const auto& items : {uneven, large}) {
      SCOPED_TRACE(spec);
      try {
        BlockTraffic traffic(comm, machine, spec, block_shape(comm, 8, 3, items));
        for (int run = 0; run < 3; ++run) traffic.run(run);
        used.insert(spec);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("does not apply here"), std::string::npos)
            << error.what();
      }
    }
  }
  for (const char* name : {"alltoallv", "alltoallw", "pairwise", "bruck", "node_aware"}) {
    EXPECT_TRUE(used.contains(name)) << name;
  }
  EXPECT_FALSE(used.contains("node_direct"));
}

/// A line of numbers of which each rank holds as many as it has peers, sent to these peers.
struct Line {
  Line(const Comm& comm, const std::vector<int>& peers_of_all, int shift)
      : plan(layouts(comm, peers_of_all, shift).first, layouts(comm, peers_of_all, shift).second,
             comm.rank()),
        from(Memory::dense(plan.from_boxes())),
        to(Memory::dense(plan.to_boxes())) {}

  /// `group_of[rank]`: ranks of a group send one item to each other; `shift` mixes the groups.
  static std::pair<Layout, Layout> layouts(const Comm& comm, const std::vector<int>& group_of,
                                           int shift) {
    const auto ranks = static_cast<std::size_t>(comm.num_ranks());
    std::vector<std::vector<Box>> senders(ranks), receivers(ranks);
    std::ptrdiff_t at = 0;
    for (std::size_t sender = 0; sender < ranks; ++sender) {
      for (std::size_t other = 0; other < ranks; ++other) {
        if (group_of[sender] != group_of[other]) continue;
        const Box item{1, {at++}, {1}};
        senders[sender].push_back(item);
        receivers[(other + static_cast<std::size_t>(shift)) % ranks].push_back(item);
      }
    }
    const std::array<std::ptrdiff_t, 1> extents{at};
    return {from_boxes(extents, std::move(senders)), from_boxes(extents, std::move(receivers))};
  }

  Plan plan;
  Memory from, to;
};

std::vector<int> node_of_all(const Comm& comm) {
  const NodeMap map(comm);
  std::vector<int> nodes;
  for (int rank = 0; rank < comm.num_ranks(); ++rank) nodes.push_back(map.node_of(rank));
  return nodes;
}

TEST(NodeDirect, MovesWhatStaysInsideNodes) {
  const Comm comm(MPI_COMM_WORLD);
  const Line line(comm, node_of_all(comm), 0);
  Exchange exchange(comm, line.plan, line.from, line.to, {8, 1}, "node_direct");
  EXPECT_EQ(exchange.method(), "node_direct");
  EXPECT_EQ(exchange.num_ranks_together(), std::ssize(neighbours(comm)));
  const auto sent = testing::make_fields(line.plan.from_boxes(), line.from, 8, 1, true);
  const auto expected = testing::make_fields(line.plan.to_boxes(), line.to, 8, 1, true);
  auto arrived = testing::make_fields(line.plan.to_boxes(), line.to, 8, 1, false);
  const void* source = sent[0].data();
  void* target = arrived[0].data();
  for (int run = 0; run < 20; ++run) {
    std::ranges::fill(arrived[0], testing::untouched);
    exchange.run(std::span(&source, 1), std::span(&target, 1));
    ASSERT_EQ(arrived, expected) << "run " << run;
  }
}

TEST(NodeDirect, SaysWhyNotBetweenNodes) {
  const Comm comm(MPI_COMM_WORLD);
  const Line line(comm, std::vector<int>(static_cast<std::size_t>(comm.num_ranks()), 0), 1);
  try {
    Exchange exchange(comm, line.plan, line.from, line.to, {8, 1}, "node_direct");
    FAIL() << "node_direct was made between nodes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    const std::string text = error.what();
    EXPECT_NE(text.find("'node_direct' does not apply here"), std::string::npos) << text;
    EXPECT_NE(text.find("share a node"), std::string::npos) << text;
  }
}

TEST(Exchange, ChoosesForEachNodeAndAcross) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<int> one(static_cast<std::size_t>(comm.num_ranks()), 0);
  for (const auto& groups : {node_of_all(comm), one}) {
    const Line line(comm, groups, 0);
    Exchange exchange(comm, line.plan, line.from, line.to, {8, 1}, "auto");
    const auto sent = testing::make_fields(line.plan.from_boxes(), line.from, 8, 1, true);
    const auto expected = testing::make_fields(line.plan.to_boxes(), line.to, 8, 1, true);
    auto arrived = testing::make_fields(line.plan.to_boxes(), line.to, 8, 1, false);
    const void* source = sent[0].data();
    void* target = arrived[0].data();
    exchange.run(std::span(&source, 1), std::span(&target, 1));
    EXPECT_EQ(arrived, expected) << exchange.method();
    EXPECT_FALSE(exchange.why().empty());
  }
}

TEST(Reductions, AreExactByEveryMethod) {
  const Comm comm(MPI_COMM_WORLD);
  std::set<std::string> used;
  for (const auto& method : reduction_methods()) {
    for (const std::ptrdiff_t items : {1, 3, 1000, 100000}) {
      SCOPED_TRACE(std::string(method.name) + ", " + std::to_string(items) + " items");
      try {
        Reduction reduction(comm, {NumberType::float64, items}, method.name);
        used.emplace(method.name);
        const int ranks = comm.num_ranks();
        for (int run = 0; run < 5; ++run) {
          std::vector<double> values(static_cast<std::size_t>(items), comm.rank() + run);
          reduction.allreduce(std::span(values));
          const double sum = ranks * (ranks - 1) / 2.0 + ranks * run;
          EXPECT_EQ(values, std::vector<double>(values.size(), sum));
          std::ranges::fill(values, comm.rank() + 1.0);
          reduction.reduce(std::span(values), ReduceOp::max, ranks - 1);
          EXPECT_EQ(values, std::vector<double>(values.size(), comm.rank() + 1.0));
          reduction.barrier();
        }
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("does not apply here"), std::string::npos)
            << error.what();
      }
    }
  }
  for (const char* name : {"mpi", "hierarchical", "hierarchical_nonblocking"}) {
    EXPECT_TRUE(used.contains(name)) << name;
  }
}

}  // namespace
}  // namespace tailrace
