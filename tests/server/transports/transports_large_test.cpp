// SPDX-License-Identifier: BSD-3-Clause
// A packet of more bytes than MPI counts in an int.
#include <cstring>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <mpi.h>

#include "server/transports/traffic.hpp"

namespace tailrace::server::test {
namespace {

TEST(LargePacket, ArrivesWhole) {
  constexpr std::ptrdiff_t bytes = (std::ptrdiff_t{1} << 31) + 12'345;
  constexpr double limit_s = 300;
  const Team team = make_team(MPI_COMM_WORLD, 1);
  const TransportSettings settings{.client_bytes = bytes + (1 << 20),
                                   .server_bytes = bytes + (1 << 20),
                                   .chunk_bytes = std::ptrdiff_t{3} << 30,
                                   .watchdog_s = limit_s};
  std::set<std::string> ran;
  for (const auto& transport : transport_table()) {
    SCOPED_TRACE(transport.name);
    if (!transport.refuses(team).empty()) continue;
    Side side(transport, team, settings);
    if (side.sender) {
      const auto packet = side.sender->memory().first(bytes);
      fill(packet, team.client, 0, 0);
      side.sender->hand_over(0, packet, 0);
      side.sender->leave(limit_s);
    }
    int arrived = 0;
    while (side.receiver && !side.receiver->all_left()) {
      side.receiver->wait(0.1);
      side.receiver->progress();
      for (Arrival arrival; side.receiver->take(arrival); ++arrived) {
        EXPECT_EQ(std::ssize(arrival.bytes), bytes);
        EXPECT_EQ(check(arrival.bytes, 0, 0), "");
        side.receiver->release(arrival);
      }
    }
    EXPECT_EQ(arrived, side.receiver ? 1 : 0);
    ran.insert(transport.name);
  }
  EXPECT_EQ(missing_of(ran), "") << "these apply on one node and were not tried";
}

}  // namespace
}  // namespace tailrace::server::test
