// SPDX-License-Identifier: BSD-3-Clause
// A rank that waits inside any method, or looks again and again whether it has ended, still lets
// MPI send what was posted before.
#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "move/applying_methods.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace {
namespace {

// The last rank begins an exchange only when it has got a message of another, which has begun it.
template <class Move>
void move_behind_a_message(Move&& move) {
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
    // Of three ranks on two nodes, the second has no messages of `node_aware` to look after.
    const int last = comm.num_ranks() - 1;
    const int sender = std::max(last - 1, 0);
    if (comm.rank() == sender && last > 0) {
      MPI_Isend(large.data(), count, MPI_DOUBLE, last, 0, comm.raw(), &request);
    }
    if (comm.rank() == last && last > 0) {
      MPI_Recv(large.data(), count, MPI_DOUBLE, sender, 0, comm.raw(), MPI_STATUS_IGNORE);
    }
    move(exchange, sources, destinations);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

TEST(Exchange, WaitingRanksLetEarlierMessagesGoOut) {
  move_behind_a_message([](Exchange& exchange, const auto& sources, const auto& destinations) {
    exchange.run(sources, destinations);
  });
}

TEST(Exchange, LookingRanksLetEarlierMessagesGoOut) {
  move_behind_a_message([](Exchange& exchange, const auto& sources, const auto& destinations) {
    exchange.start(sources, destinations);
    while (!exchange.progress()) {
    }
    exchange.finish();
  });
}

}  // namespace
}  // namespace tailrace
