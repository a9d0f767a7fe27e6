// SPDX-License-Identifier: BSD-3-Clause
// Clients with a helper thread, which answers while the main thread computes: needs an MPI that
// threads may call at once.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <mpi.h>

#include "server/transports/traffic.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server::test {
namespace {

constexpr double limit_s = 60;

int num_ranks() {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}

class HelperThread : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI lets no threads call it at once";
  }
  Team team = make_team(MPI_COMM_WORLD, usual_servers(num_ranks()));
};

INSTANTIATE_TEST_SUITE_P(ByMessage, HelperThread,
                         ::testing::Values("push_ordered", "push_any", "credit"));

TEST_P(HelperThread, MixedTraffic) {
  const Traffic traffic{.packets = 100, .calls = false, .helper_thread = true};
  Side side(find_transport(GetParam()), team, settings_of(traffic));
  run_traffic(side, team, traffic);
}

// The main threads of the clients make no call at all until the server has everything.
TEST_P(HelperThread, AnswersWhileTheMainThreadIsBusy) {
  const Traffic traffic{.client_bytes = 8 << 20, .server_bytes = 32 << 20, .helper_thread = true};
  constexpr int packets = 3;
  Side side(find_transport(GetParam()), team, settings_of(traffic));
  if (side.sender) {
    for (int i = 0; i < packets; ++i) {
      const auto packet = side.sender->memory().subspan(static_cast<std::size_t>(i) << 21, 1 << 21);
      fill(packet, team.client, 0, i);
      side.sender->hand_over(0, packet, 0);
    }
    MPI_Request all_there = MPI_REQUEST_NULL;
    MPI_Ibarrier(team.all.raw(), &all_there);
    int done = 0;
    const double until_s = now_s() + limit_s;
    // This lets MPI move what has been started, but it answers nobody.
    while (done == 0 && now_s() < until_s) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      MPI_Test(&all_there, &done, MPI_STATUS_IGNORE);
    }
    ASSERT_EQ(done, 1);
    side.sender->leave(limit_s);
  }
  if (side.receiver) {
    int arrived = 0;
    const int expected = team.server == 0 ? packets * team.num_clients() : 0;
    const double until_s = now_s() + limit_s;
    while (arrived < expected && now_s() < until_s) {
      side.receiver->wait(0.1);
      for (Arrival arrival; side.receiver->take(arrival); ++arrived) {
        EXPECT_EQ(check(arrival.bytes, arrival.client, 0), "");
        side.receiver->release(arrival);
      }
    }
    EXPECT_EQ(arrived, expected);
    MPI_Request all_there = MPI_REQUEST_NULL;
    MPI_Ibarrier(team.all.raw(), &all_there);
    MPI_Wait(&all_there, MPI_STATUS_IGNORE);
    while (!side.receiver->all_left()) side.receiver->wait(0.1);
  }
}

}  // namespace
}  // namespace tailrace::server::test

// As test_main.cpp, but with threads.
int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  ::testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  if (tailrace::detail::count_handles(0) != 0) failed = 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed != 0 ? 1 : 0;
}
