// SPDX-License-Identifier: BSD-3-Clause
// A rank that waits inside any method still lets MPI send what was posted
// before.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "move/applying_methods.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace {
namespace {

TEST(Exchange, WaitingRanksLetEarlierMessagesGoOut) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<std::ptrdiff_t> extents{8, 8, 8};
  const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 2, comm.num_ranks()),
                  comm.rank());
  const auto from = Memory::dense(plan.from_boxes());
  const auto to = Memory::dense(plan.to_boxes());
  std::vector<double> source(static_cast<std::size_t>(from.num_items));
  std::vector<double> destination(static_cast<std::size_t>(to.num_items));
  const std::array<const void*, 1> sources{source.data()};
  const std::array<void*, 1> destinations{destination.data()};
  std::vector<double> large(4 << 20);  // 32 MiB: more than any eager protocol takes
  const auto methods = testing::applying_methods(comm, plan, from, to, {8, 1});
  EXPECT_GE(methods.size(), 4U);
  for (const auto& method : methods) {
    SCOPED_TRACE(method);
    Exchange exchange(comm, plan, from, to, {8, 1}, method);
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(large.size());
    if (comm.rank() == 0 && comm.num_ranks() > 1) {
      MPI_Isend(large.data(), count, MPI_DOUBLE, 1, 0, comm.raw(), &request);
    }
    if (comm.rank() == 1) {
      MPI_Recv(large.data(), count, MPI_DOUBLE, 0, 0, comm.raw(), MPI_STATUS_IGNORE);
    }
    exchange.run(sources, destinations);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

}  // namespace
}  // namespace tailrace
