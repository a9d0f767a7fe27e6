// SPDX-License-Identifier: BSD-3-Clause
// Figures of the Gemini torus (23 x 24 x 24 routers, y links half as fast) that are known from a
// study and from an independent model, and what must hold of every load.
#include "tailrace/more/link_load.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "model/network.hpp"
#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/plan.hpp"

namespace tailrace::model {
namespace {

const std::vector<int> gemini_extents{23, 24, 24};

std::unique_ptr<Network> gemini(Torus::Ties ties = Torus::Ties::split) {
  return make_network(Torus{gemini_extents, {9.4e9, 4.7e9, 9.4e9}, ties, unlimited, unlimited});
}

// One transpose of 8192^3 points x 3 fields x 4 bytes among all ranks of a box, one a router.
struct Transpose {
  explicit Transpose(std::vector<int> shape, bool in_rounds = false,
                     Torus::Ties ties = Torus::Ties::split) {
    const auto machine = gemini(ties);
    const auto nodes = place(nodes_of_box(gemini_extents, shape), 1);
    const int n = static_cast<int>(nodes.size());
    const double bytes = 8192.0 * 8192 * 8192 * 12 / n / n;
    load = in_rounds ? all_to_all_in_rounds(*machine, nodes, rows_of_grid({1, n}), bytes)
                     : all_to_all(*machine, nodes, rows_of_grid({1, n}), bytes);
  }
  void expect(double x, double y, double z) const {
    ASSERT_EQ(load.kinds.size(), 3U);
    EXPECT_NEAR(load.kinds[0].seconds, x, 0.0006);
    EXPECT_NEAR(load.kinds[1].seconds, y, 0.0006);
    EXPECT_NEAR(load.kinds[2].seconds, z, 0.0006);
    EXPECT_DOUBLE_EQ(load.seconds, std::max({load.kinds[0].seconds, load.kinds[1].seconds,
                                             load.kinds[2].seconds}));
  }
  LinkLoad load;
};

TEST(LinkLoad, GeminiBoxes) {
  Transpose({6, 24, 24}).expect(0.305, 1.218, 0.609);
  Transpose({23, 6, 24}).expect(0.608, 0.636, 0.636);
  Transpose({23, 24, 6}).expect(0.608, 1.271, 0.318);
  Transpose({12, 12, 24}).expect(0.609, 1.218, 0.609);
  Transpose({11, 6, 12}).expect(2.417, 2.658, 2.658);
  Transpose({23, 24, 24}).expect(0.152, 0.318, 0.159);
}

TEST(LinkLoad, SlabAcrossTheSlowAxisIsTwiceAsGood) {
  const Transpose x_normal({6, 24, 24}), y_normal({23, 6, 24});
  EXPECT_NEAR(x_normal.load.seconds / y_normal.load.seconds, 1.917, 0.0006);
  EXPECT_EQ(x_normal.load.worst.substr(0, 1), "y");
}

TEST(LinkLoad, SlabsInRounds) {
  const Transpose x_normal({6, 24, 24}, true), y_normal({23, 6, 24}, true);
  EXPECT_NEAR(x_normal.load.seconds / y_normal.load.seconds, 1.58, 0.006);
  EXPECT_EQ(x_normal.load.rounds, 6 * 24 * 24 - 1);
}

TEST(LinkLoad, ATieThatGoesOneWayIsWorse) {
  const auto load_of = [](int n, Torus::Ties ties) {
    const auto machine = make_network(Torus{{n}, {1.0}, ties, unlimited, unlimited});
    std::vector<std::ptrdiff_t> nodes(static_cast<std::size_t>(n));
    std::iota(nodes.begin(), nodes.end(), 0);
    return all_to_all(*machine, nodes, rows_of_grid({1, n}), 1).seconds;
  };
  // A ring of n: (n/2)^2 / 2 bytes on each link and way with even splits.
  EXPECT_EQ(load_of(8, Torus::Ties::split), 8);
  EXPECT_EQ(load_of(8, Torus::Ties::plus), 10);
  EXPECT_NEAR(load_of(24, Torus::Ties::plus) / load_of(24, Torus::Ties::split), 1.08, 0.005);
}

TEST(LinkLoad, RowsOnANodeUseItsMemoryOnly) {
  const auto machine = make_network("torus:4x4,bw=1,injection=2,loopback=10");
  std::vector<std::ptrdiff_t> nodes(16);
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto node_of = place(nodes, 8);
  const auto rows = all_to_all(*machine, node_of, rows_of_grid({16, 8}), 1e9);
  EXPECT_DOUBLE_EQ(rows.seconds, 8 * 7 / 10.0);
  EXPECT_EQ(rows.worst, "loopback of (0, 0)");
  EXPECT_EQ(rows.moved_bytes, 16 * 8 * 7 * 1e9);
  const auto columns = all_to_all(*machine, node_of, columns_of_grid({16, 8}), 1e9);
  EXPECT_EQ(columns.kinds[0].total_bytes, 0);                // loopback
  EXPECT_DOUBLE_EQ(columns.kinds[1].seconds, 8 * 15 / 2.0);  // injection
  EXPECT_DOUBLE_EQ(columns.seconds, std::max(columns.kinds[1].seconds, columns.kinds[3].seconds));
}

TEST(LinkLoad, APlanIsPricedAsTheAllToAllThatItIs) {
  const std::vector<std::ptrdiff_t> extents{32, 32, 32};
  const int rows = 4, columns = 8;
  const int grid[2] = {rows, columns};
  const Layout from = pencils(extents, 2, grid), to = pencils(extents, 1, grid);
  const auto machine = make_network("torus:4x4x2,bw=1:2:4,loopback=1");
  std::vector<std::ptrdiff_t> nodes(32);
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto by_plan =
      any_messages(*machine, nodes, [&](int rank) { return Plan(from, to, rank).bytes(8); });
  const auto by_hand =
      all_to_all(*machine, nodes, rows_of_grid({rows, columns}), 32.0 * 32 * 32 * 8 / 32 / columns);
  EXPECT_DOUBLE_EQ(by_plan.seconds, by_hand.seconds);
  EXPECT_EQ(by_plan.moved_bytes, by_hand.moved_bytes);
  EXPECT_EQ(by_plan.worst, by_hand.worst);
}

TEST(LinkLoad, DescribesItself) {
  const auto text = Transpose({6, 24, 24}).load.describe();
  EXPECT_EQ(text.substr(0, 7), "1.218 s") << text;
  EXPECT_NE(text.find("fullest link y"), std::string::npos) << text;
  const auto machine = gemini();
  EXPECT_NE(machine->describe().find("23 x 24 x 24"), std::string::npos);
  EXPECT_EQ(all_to_all(*machine, place({{0}}, 1), rows_of_grid({1, 1}), 1).describe(),
            "nothing moves over a link with a bandwidth");
}

TEST(LinkLoad, RefusesRanksAndNodesThatAreNot) {
  const auto machine = make_network("torus:2x2,bw=1");
  EXPECT_THROW(all_to_all(*machine, Placement{0, 4}, rows_of_grid({1, 2}), 1), Error);
  EXPECT_THROW(all_to_all(*machine, Placement{0, 1}, rows_of_grid({1, 3}), 1), Error);
  EXPECT_THROW(place(Placement{0}, 0), Error);
  const std::vector<int> extents{2, 2}, too_long{3, 1}, too_few{1};
  EXPECT_THROW(nodes_of_box(extents, too_long), Error);
  EXPECT_THROW(nodes_of_box(extents, too_few), Error);
}

}  // namespace
}  // namespace tailrace::model
