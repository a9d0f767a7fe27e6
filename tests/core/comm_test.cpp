// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/comm.hpp"

#include <climits>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "environment.hpp"

namespace tailrace {
namespace {

TEST(Comm, IsADuplicateThatKnowsItsRanks) {
  int rank = 0;
  int num_ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  const Comm comm(MPI_COMM_WORLD);
  EXPECT_EQ(comm.rank(), rank);
  EXPECT_EQ(comm.num_ranks(), num_ranks);
  int compared = MPI_UNEQUAL;
  MPI_Comm_compare(comm.raw(), MPI_COMM_WORLD, &compared);
  EXPECT_EQ(compared, MPI_CONGRUENT);
}

TEST(Comm, SplitsByColourAndOrdersByKey) {
  const Comm comm(MPI_COMM_WORLD);
  const auto part = comm.split(comm.rank() % 2, -comm.rank());
  const int members = (comm.num_ranks() + (comm.rank() % 2 == 0 ? 1 : 0)) / 2;
  EXPECT_EQ(part.num_ranks(), members);
  EXPECT_EQ(part.rank(), members - 1 - comm.rank() / 2);
}

TEST(Comm, NodeHoldsAllRanksOfThisMachine) {
  const Comm comm(MPI_COMM_WORLD);
  const Comm& node = comm.node();
  EXPECT_EQ(node.num_ranks(), comm.num_ranks());
  EXPECT_EQ(node.rank(), comm.rank());
}

TEST(Comm, DuplicatesHaveOneNodeThatIsFreedWithTheLast) {
  const auto before = detail::count_handles(0);
  std::optional<Comm> first(MPI_COMM_WORLD);
  const Comm second = first->duplicate();
  int compared = MPI_UNEQUAL;
  MPI_Comm_compare(first->raw(), second.raw(), &compared);
  EXPECT_EQ(compared, MPI_CONGRUENT);
  if (first->num_ranks() == 1) return;
  const Comm& node = first->node();
  EXPECT_EQ(second.node().raw(), node.raw());
  EXPECT_EQ(node.node().raw(), node.raw());
  EXPECT_EQ(detail::count_handles(0), before + 3);
  const Environment pairs("TAILRACE_RANKS_PER_NODE", "2");
  EXPECT_LE(first->node().num_ranks(), 2);
  EXPECT_EQ(first->node().node().num_ranks(), first->node().num_ranks());
  EXPECT_EQ(first->whole_node().raw(), node.raw());
  first.reset();
  EXPECT_EQ(node.num_ranks(), second.num_ranks());
}

TEST(Comm, DuplicatesHaveNoTopology) {
  MPI_Comm cart = MPI_COMM_NULL;
  const int grid[] = {Comm(MPI_COMM_WORLD).num_ranks()}, periodic[] = {0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, grid, periodic, 0, &cart);
  const Comm comm(cart);
  const Comm duplicate = comm.duplicate();
  int topology = MPI_UNDEFINED;
  MPI_Topo_test(comm.raw(), &topology);
  EXPECT_EQ(topology, MPI_CART);
  MPI_Topo_test(duplicate.raw(), &topology);
  EXPECT_EQ(topology, MPI_UNDEFINED);
  EXPECT_EQ(duplicate.rank(), comm.rank());
  EXPECT_EQ(duplicate.num_ranks(), comm.num_ranks());
  MPI_Comm_free(&cart);
}

TEST(Comm, MovingKeepsOneOwner) {
  const auto before = detail::count_handles(0);
  {
    Comm first(MPI_COMM_WORLD);
    EXPECT_EQ(detail::count_handles(0), before + 1);
    const auto raw = first.raw();
    Comm second(std::move(first));
    EXPECT_EQ(second.raw(), raw);
    EXPECT_EQ(detail::count_handles(0), before + 1);
    second = Comm(MPI_COMM_WORLD);
    EXPECT_EQ(detail::count_handles(0), before + 1);
  }
  EXPECT_EQ(detail::count_handles(0), before);
}

TEST(ToInt, RefusesWhatDoesNotFit) {
  EXPECT_EQ(to_int(INT_MAX), INT_MAX);
  EXPECT_EQ(to_int(-3), -3);
  EXPECT_THROW(to_int(static_cast<std::ptrdiff_t>(INT_MAX) + 1), Error);
  EXPECT_THROW(to_int(static_cast<std::ptrdiff_t>(INT_MIN) - 1), Error);
}

}  // namespace
}  // namespace tailrace
