// SPDX-License-Identifier: BSD-3-Clause
// No method allocates after its first run: every operator new of this program is counted.
#include <array>

#include <gtest/gtest.h>

#include "counted_new.hpp"
#include "move/applying_methods.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace {
namespace {

TEST(ExchangeMemory, NothingIsAllocatedAfterTheFirstRun) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<std::ptrdiff_t> extents{33, 34, 35};
  const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 2, comm.num_ranks()),
                  comm.rank());
  const auto from = Memory::dense(plan.from_boxes());
  const auto to = Memory::dense(plan.to_boxes());
  std::vector<double> source(static_cast<std::size_t>(2 * from.num_items), 1.0);
  std::vector<double> destination(static_cast<std::size_t>(2 * to.num_items));
  const std::array<const void*, 2> sources{source.data(), source.data() + from.num_items};
  const std::array<void*, 2> destinations{destination.data(), destination.data() + to.num_items};
  const auto methods = testing::applying_methods(comm, plan, from, to, {8, 2});
  EXPECT_GE(methods.size(), 4U);
  for (const auto& method : methods) {
    const auto before_making = counted_new::allocations.load();
    Exchange exchange(comm, plan, from, to, {8, 2}, method);
    EXPECT_GT(counted_new::allocations.load(), before_making) << "the counter does not count";
    exchange.run(sources, destinations);
    const auto before = counted_new::allocations.load();
    for (int run = 0; run < 5; ++run) {
      exchange.run(sources, destinations);
      exchange.start(sources, destinations);
      exchange.progress();
      exchange.finish();
    }
    EXPECT_EQ(counted_new::allocations.load(), before) << method;
  }
}

}  // namespace
}  // namespace tailrace
