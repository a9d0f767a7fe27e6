// SPDX-License-Identifier: BSD-3-Clause
// Any one rank is late at any point: of staging and handing over a packet, or of taking and
// releasing one. Memory is little, so that what is released, or should not have been, is used again
// at once. Every byte of every packet is checked when the server lets go of it.
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <mpi.h>

#include "server/transports/traffic.hpp"

namespace tailrace::server::test {
namespace {

TEST(LateRank, HoldsUpPacketsOfEveryTransport) {
  int num_ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  const Team team = make_team(MPI_COMM_WORLD, usual_servers(num_ranks));
  std::set<std::string> ran;
  for (const auto& transport : transport_table()) {
    if (!transport.refuses(team).empty()) continue;
    ran.insert(transport.name);
    for (int late = 0; late < num_ranks; ++late) {
      for (int point = 0; point < num_late_points; ++point) {
        SCOPED_TRACE(std::string(transport.name) + ", late rank " + std::to_string(late) +
                     ", point " + std::to_string(point));
        const Traffic traffic{.packets = 25,
                              .largest = 100'000,
                              .client_bytes = 220'000,
                              .server_bytes = 110'000,
                              .longest_pause_s = 0,
                              .late_rank = late,
                              .late_at = point};
        Side side(transport, team, settings_of(traffic));
        run_traffic(side, team, traffic);
      }
    }
  }
  EXPECT_EQ(missing_of(ran), "");
}

}  // namespace
}  // namespace tailrace::server::test
