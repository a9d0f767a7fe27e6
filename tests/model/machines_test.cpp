// SPDX-License-Identifier: BSD-3-Clause
// Every machine: the sums over subsets of nodes equal the list of all pairs, link by link, and
// routes have the lengths that they must have.
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/network.hpp"
#include "tailrace/error.hpp"

namespace tailrace::model {
namespace {

const std::vector<std::string> machines{
    "torus:7,bw=1,loopback=1",
    "torus:8,bw=1,ties=plus,loopback=1",
    "torus:4x5,bw=1:2,injection=3,loopback=1",
    "torus:3x4x6,bw=1:2:3,loopback=1",
    "torus:3x4x6,bw=1:2:3,ties=plus,loopback=1",
    "torus:2x3x2x4x2,bw=1,loopback=1",
    "dragonfly:4x2x3x2,host=1,local=2,chassis=3,global=4,loopback=1",
    "dragonfly:3x1x5x3,host=1,local=2,global=4,loopback=1",
    "dragonfly:1x1x1x4,host=1,loopback=1",
    "fat_tree:6,bw=1,loopback=1",
    "fat_tree:4x5,up=1x3,bw=1:2,loopback=1",
    "fat_tree:3x4x2,up=1x2x3,cables=1x2x1,bw=1:2:3,loopback=1",
    "fat_tree:4x4,up=2x2,cables=1x3,bw=1,loopback=1",
};

double total(const std::vector<double>& links) {
  return std::accumulate(links.begin(), links.end(), 0.0);
}

class EveryMachine : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Network> machine = make_network(GetParam());
};

TEST_P(EveryMachine, SumsEqualTheListOfPairs) {
  std::mt19937 random(7);
  for (int set = 0; set < 4; ++set) {
    std::vector<NodeShare> nodes;
    for (std::ptrdiff_t node = 0; node < machine->num_nodes(); ++node) {
      const auto count = set == 0 ? 1 : static_cast<int>(random() % 3);
      if (count > 0) nodes.push_back({node, static_cast<double>(count)});
    }
    auto sums = machine->no_load();
    machine->add_all_to_all(sums, nodes, 2);
    auto pairs = machine->no_load();
    for (const auto& from : nodes) {
      for (const auto& to : nodes) {
        const double messages = from.count * (from.node == to.node ? to.count - 1 : to.count);
        machine->add_message(pairs, from.node, to.node, 2 * messages);
      }
    }
    for (std::size_t kind = 0; kind < sums.size(); ++kind) {
      for (std::size_t link = 0; link < sums[kind].size(); ++link) {
        ASSERT_EQ(sums[kind][link], pairs[kind][link])
            << machine->link_name(kind, static_cast<std::ptrdiff_t>(link));
      }
    }
  }
}

TEST_P(EveryMachine, LinksHaveNamesOfTheirOwn) {
  for (std::size_t kind = 0; kind < machine->kinds().size(); ++kind) {
    std::map<std::string, std::ptrdiff_t> names;
    for (std::ptrdiff_t link = 0; link < machine->kinds()[kind].num_links; ++link) {
      const auto [at, is_new] = names.emplace(machine->link_name(kind, link), link);
      ASSERT_TRUE(is_new) << at->first << ": links " << at->second << " and " << link;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryMachine, ::testing::ValuesIn(machines));

// Bytes times hops: a message of 1 byte loads as many links as its route has.
TEST(Machines, ATorusRouteTakesTheShortestWay) {
  const int extents[3] = {3, 4, 6};
  const auto machine = make_network("torus:3x4x6,bw=1");
  for (int source = 0; source < 72; ++source) {
    for (int destination = 0; destination < 72; ++destination) {
      auto loads = machine->no_load();
      machine->add_message(loads, source, destination, 1);
      int stride = 1;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const int n = extents[axis];
        const int apart = std::abs(source / stride % n - destination / stride % n);
        EXPECT_EQ(total(loads[3 + axis]), std::min(apart, n - apart));
        stride *= n;
      }
    }
  }
}

TEST(Machines, ATorusGoesAlongItsFirstAxisFirst) {
  const auto machine = make_network("torus:4x4,bw=1");
  auto loads = machine->no_load();
  machine->add_message(loads, 0, 5, 1);  // (0, 0) to (1, 1)
  EXPECT_EQ(loads[3][0], 1);             // x+ from (0, 0)
  EXPECT_EQ(loads[4][2], 1);             // y+ from (1, 0)
  EXPECT_EQ(machine->link_name(4, 2), "y+ from (1, 0)");
}

TEST(Machines, ADragonflyRouteTakesAtMostFiveHopsBetweenRouters) {
  const auto machine = make_network("dragonfly:4x2x3x2,host=1,local=1,chassis=1,global=1");
  for (std::ptrdiff_t source = 0; source < 48; ++source) {
    for (std::ptrdiff_t destination = 0; destination < 48; ++destination) {
      if (source == destination) continue;
      auto loads = machine->no_load();
      machine->add_message(loads, source, destination, 1);
      EXPECT_EQ(loads[1][static_cast<std::size_t>(source)], 1);
      EXPECT_EQ(loads[2][static_cast<std::size_t>(destination)], 1);
      EXPECT_EQ(total(loads[5]), source / 12 == destination / 12 ? 0 : 1);
      EXPECT_LE(total(loads[3]) + total(loads[4]), source / 12 == destination / 12 ? 2 : 4);
      EXPECT_EQ(total(loads[3]) + total(loads[4]) == 0,
                source / 2 == destination / 2 ||
                    (source / 2 % 6 == destination / 12 && destination / 2 % 6 == source / 12));
    }
  }
}

TEST(Machines, AFatTreeRouteTurnsAtTheFirstCommonSwitch) {
  const auto machine = make_network("fat_tree:3x4x2,up=1x2x3,bw=1");
  for (std::ptrdiff_t source = 0; source < 24; ++source) {
    for (std::ptrdiff_t destination = 0; destination < 24; ++destination) {
      if (source == destination) continue;
      auto loads = machine->no_load();
      machine->add_message(loads, source, destination, 1);
      const int levels = source / 3 == destination / 3     ? 1
                         : source / 12 == destination / 12 ? 2
                                                           : 3;
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(total(loads[static_cast<std::size_t>(1 + i)]), i < levels);
        EXPECT_EQ(total(loads[static_cast<std::size_t>(4 + i)]), i < levels);
      }
    }
  }
}

TEST(Machines, AFatTreeOfFullWidthIsNeverWorseThanItsHosts) {
  const auto machine = make_network("fat_tree:8x8,up=1x8,bw=1");
  std::vector<std::ptrdiff_t> nodes(64);
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto load = all_to_all(*machine, nodes, rows_of_grid({1, 64}), 1e9);
  EXPECT_DOUBLE_EQ(load.seconds, 63);
  const auto thin = make_network("fat_tree:8x8,up=1x4,bw=1");
  EXPECT_DOUBLE_EQ(all_to_all(*thin, nodes, rows_of_grid({1, 64}), 1e9).seconds, 112);
}

TEST(Machines, TextThatIsWrongIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"ring:4", "must begin with torus:, dragonfly: or fat_tree:"},
      {"torus", "must begin with"},
      {"torus:4x0,bw=1", "\"0\" must be a whole number"},
      {"torus:4x4", "bw=... is missing"},
      {"torus:4x4,bw=1:2:3", "2 axes with 3 bandwidths"},
      {"torus:4x4,bw=1,ties=even", "must be split or plus"},
      {"torus:4x4,bw=1,speed=3", "knows no \"speed\""},
      {"torus:4x4,bw", "must be key=value"},
      {"torus:1x1x1x1x1x1,bw=1", "must be 1 to 5"},
      {"torus:99999x99999,bw=1", "more than"},
      {"dragonfly:4x2x3,host=1", "groups x chassis x blades x nodes"},
      {"dragonfly:7x2x3x1,host=1", "at least as many routers as groups"},
      {"fat_tree:4x4,up=1,bw=1", "one entry per level"},
      {"fat_tree:4x4,bw=-1", "\"-1\" must be a number above 0"},
  };
  for (const auto& [text, message] : wrong) {
    try {
      make_network(text);
      ADD_FAILURE() << text << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tailrace::model
