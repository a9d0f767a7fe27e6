// SPDX-License-Identifier: BSD-3-Clause
// Every transport with many clients on few cores, random delays and mixed sizes: every byte right.
// TAILRACE_TEST_PACKETS says how many packets each client sends.
#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <mpi.h>

#include "server/transports/traffic.hpp"

namespace tailrace::server::test {
namespace {

TEST(TransportLoad, EveryByteIsRight) {
  int num_ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  const Team team = make_team(MPI_COMM_WORLD, usual_servers(num_ranks));
  const char* packets = std::getenv("TAILRACE_TEST_PACKETS");
  const Traffic traffic{.packets = packets != nullptr ? std::atoi(packets) : 100,
                        .largest = 2 << 20,
                        .client_bytes = 4 << 20,
                        .server_bytes = 8 << 20,
                        .longest_pause_s = 2e-3};
  std::set<std::string> ran;
  for (const auto& transport : transport_table()) {
    SCOPED_TRACE(transport.name);
    if (!transport.refuses(team).empty()) continue;
    Side side(transport, team, settings_of(traffic));
    run_traffic(side, team, traffic);
    ran.insert(transport.name);
  }
  EXPECT_EQ(missing_of(ran), "") << "these apply on one node and were not tried";
}

}  // namespace
}  // namespace tailrace::server::test
