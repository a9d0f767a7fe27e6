// SPDX-License-Identifier: BSD-3-Clause
// The pull in coarray Fortran. Where it is not built, or the runtime of its coarrays can not start,
// it must say so.
#include <gtest/gtest.h>

#include "move/block_traffic.hpp"

namespace tailrace {
namespace {

// The only ranks that can be images: all, in their order.
class Caf : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto shape = block_shape(comm_, 8, 1, [](auto, int, int) { return 1; });
    if (!block_caf_applies({comm_, shape, machine_})) {
      EXPECT_THROW(BlockTraffic(comm_, machine_, "caf", shape), Error);
      GTEST_SKIP() << "not built, or no windows";
    }
  }
  Comm comm_{MPI_COMM_WORLD};
  Surroundings machine_{comm_};
};

TEST_F(Caf, MovesBlocksWhateverTheirSizes) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL, after = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  for (const std::string spec : {"caf", "caf:chunk=7", "caf:chunk=16,depth=1"}) {
    for (const auto& pattern : block_patterns(comm_.num_ranks())) {
      SCOPED_TRACE(spec + ", " + pattern.name);
      BlockTraffic traffic(comm_, machine_, spec, block_shape(comm_, 3, 3, pattern.items));
      for (int run = 0; run < 3; ++run) traffic.run(run);
    }
  }
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
  EXPECT_EQ(before, after);
  MPI_Errhandler_free(&before);
  MPI_Errhandler_free(&after);
}

TEST_F(Caf, MakesRoomWhileOthersAreUnderWay) {
  const auto shape = block_shape(comm_, 8, 2, [](auto piece, int from, int to) {
    return 1000 + 100 * piece + 10 * from + to;
  });
  std::unique_ptr<BlockTraffic> first, second, third;
  first = std::make_unique<BlockTraffic>(comm_, machine_, "caf:chunk=100", shape);
  first->runner().acquire();
  first->write_all(0, 5);
  first->runner().start(0);
  // The coarray grows while blocks wait in it.
  second = std::make_unique<BlockTraffic>(comm_, machine_, "caf:chunk=256", shape);
  second->run(0);
  first->write_all(1, 5);
  first->runner().start(1);
  for (const std::ptrdiff_t p : {1, 0}) {
    first->runner().wait(p);
    first->expect_all(p, 5);
  }
  first->runner().release();
  first.reset();
  second->run(1);
  third = std::make_unique<BlockTraffic>(comm_, machine_, "caf", shape);
  third->run(2);
  second->run(3);
}

TEST_F(Caf, IsForAllRanksInTheirOrderOnly) {
  const auto shape = block_shape(comm_, 8, 1, [](auto, int, int) { return 1; });
  const Comm reversed = comm_.split(0, -comm_.rank());
  const Comm some = comm_.split(comm_.rank() == 0 ? 0 : 1);
  EXPECT_EQ(block_caf_applies({reversed, shape, machine_}), comm_.num_ranks() == 1);
  EXPECT_EQ(block_caf_applies({some, shape, machine_}), some.num_ranks() == 1);
}

}  // namespace
}  // namespace tailrace
