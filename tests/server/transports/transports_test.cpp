// SPDX-License-Identifier: BSD-3-Clause
// Every line of the table of transports: all that its interface promises.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "environment.hpp"
#include "server/transports/traffic.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/tune.hpp"
#include "tailrace/trace.hpp"
#include "temp_folder.hpp"

namespace tailrace::server::test {
namespace {

constexpr double limit_s = 60;

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

class Transports : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto reason = transport().refuses(team);
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  const Transport& transport() const { return find_transport(GetParam()); }
  void barrier() const { MPI_Barrier(team.all.raw()); }

  int num_ranks = [] {
    int n = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    return n;
  }();
  Team team = make_team(MPI_COMM_WORLD, usual_servers(num_ranks));
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& transport : transport_table()) all.push_back(transport.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Table, Transports, ::testing::ValuesIn(names()),
                         [](const auto& line) { return line.param; });

TEST_P(Transports, MixedTraffic) {
  const Traffic traffic{.packets = 200, .largest = 3 << 20, .client_bytes = 8 << 20};
  Side side(transport(), team, settings_of(traffic));
  run_traffic(side, team, traffic);
}

TEST_P(Transports, TinyMemories) {
  const Traffic traffic{
      .packets = 60, .largest = 300'000, .client_bytes = 400'000, .server_bytes = 310'000};
  Side side(transport(), team, settings_of(traffic));
  run_traffic(side, team, traffic);
}

TEST_P(Transports, ClientsThatDoNotCall) {
  const Traffic traffic{.packets = 60, .longest_pause_s = 5e-3, .calls = false};
  Side side(transport(), team, settings_of(traffic));
  run_traffic(side, team, traffic);
}

TEST_P(Transports, ManySmallPacketsFillTheTables) {
  const Traffic traffic{.packets = 600, .largest = 100, .longest_pause_s = 0};
  Side side(transport(), team, settings_of(traffic));
  run_traffic(side, team, traffic);
}

TEST_P(Transports, MemoryOfTheServerSmallerThanPackets) {
  const Traffic traffic{
      .packets = 60, .largest = 300'000, .client_bytes = 400'000, .server_bytes = 100'000};
  Side side(transport(), team, settings_of(traffic));
  run_traffic(side, team, traffic);
}

// The server holds a packet, as of an unfinished step, until it has an older one, which more
// important ones have overtaken.
TEST_P(Transports, AnOlderPacketIsNotKeptOutByNewerOnes) {
  constexpr std::ptrdiff_t large = 200'000;
  Side side(transport(), team, settings_of({.server_bytes = 300'000}));
  if (side.sender) {
    Client client(*side.sender);
    const auto hand_over = [&](std::int64_t number, int priority) {
      const auto packet = client.stage(large);
      fill(packet, team.client, 0, number);
      side.sender->hand_over(0, packet, priority);
    };
    hand_over(0, 0);
    hand_over(1, 0);
    for (std::int64_t number = 2; number < 6; ++number) hand_over(number, 5);
    barrier();
    side.sender->leave(limit_s);
  }
  if (side.receiver) {
    barrier();
    std::map<int, std::vector<Arrival>> held;
    std::set<int> complete;  // clients whose packet 1 has come
    const double until_s = now_s() + limit_s;
    while (!side.receiver->all_left() && now_s() < until_s) {
      for (Arrival arrival; side.receiver->take(arrival);) {
        EXPECT_EQ(check(arrival.bytes, arrival.client, 0), "");
        const auto number = number_of(arrival.bytes);
        if (number == 1) complete.insert(arrival.client);
        held[arrival.client].push_back(arrival);
        if (number > 0 && !complete.contains(arrival.client)) continue;
        auto& of_client = held[arrival.client];
        std::erase_if(of_client, [&](const Arrival& one) {
          if (number == 0 && one.handle != arrival.handle) return false;
          side.receiver->release(one);
          return true;
        });
      }
      side.receiver->wait(0.1);
      side.receiver->progress();
    }
    EXPECT_TRUE(side.receiver->all_left());
  }
}

TEST_P(Transports, HigherPriorityGoesFirst) {
  Side side(transport(), team, settings_of({}));
  const std::vector<int> priorities{0, 2, 1, 0, 2, 1, 1, 0};
  if (side.sender) {
    Client client(*side.sender);
    // What is in motion is not stopped: the first one is big and goes first anyway.
    const auto first = client.stage(1 << 20);
    fill(first, team.client, 0, 0);
    side.sender->hand_over(0, first, 3);
    for (std::size_t i = 0; i < priorities.size(); ++i) {
      const auto packet = client.stage(5000);
      fill(packet, team.client, 0, static_cast<std::int64_t>(i) + 1);
      side.sender->hand_over(0, packet, priorities[i]);
    }
    barrier();
    side.sender->leave(limit_s);
  }
  if (side.receiver) {
    barrier();
    std::vector<std::vector<std::int64_t>> order(static_cast<std::size_t>(team.num_clients()));
    while (!side.receiver->all_left()) {
      for (Arrival arrival; side.receiver->take(arrival);) {
        order[static_cast<std::size_t>(arrival.client)].push_back(number_of(arrival.bytes));
        EXPECT_EQ(check(arrival.bytes, arrival.client, 0), "");
        side.receiver->release(arrival);
      }
      side.receiver->wait(0.1);
      side.receiver->progress();
    }
    const std::vector<std::int64_t> right{0, 2, 5, 3, 6, 7, 1, 4, 8};
    for (const auto& numbers : order) {
      EXPECT_EQ(numbers, team.server == 0 ? right : std::vector<std::int64_t>{});
    }
  }
}

double processor_s() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

// A share of a processor, not a time: one that spins has half of one even beside another process,
// one that waits about a hundredth (several in a build with sanitizers).
TEST_P(Transports, WaitingLeavesTheProcessorToOthers) {
  Side side(transport(), team, settings_of({}));
  barrier();
  const double before = processor_s(), start = now_s();
  while (now_s() - start < 1) {
    if (side.sender) side.sender->wait(0.5);
    if (side.receiver) side.receiver->wait(0.5);
  }
  EXPECT_LT((processor_s() - before) / (now_s() - start), 0.2);
  barrier();
  run_traffic(side, team, {.packets = 1});
}

TEST_P(Transports, WakeEndsAWait) {
  Side side(transport(), team, settings_of({}));
  if (side.receiver) {
    side.receiver->wake();              // before: the next wait ends at once
    constexpr double for_ever_s = 1e6;  // a wait that is not ended runs into the test's limit
    side.receiver->wait(for_ever_s);
    std::thread other([&] {
      sleep_for(0.02);
      side.receiver->wake();
    });
    side.receiver->wait(for_ever_s);
    other.join();
  }
  run_traffic(side, team, {.packets = 1});
}

TEST_P(Transports, ManyNoticesAtOnceKeepTheirOrder) {
  constexpr int many = 500;
  Side side(transport(), team, settings_of({}));
  if (side.receiver && team.server == 0) {
    for (int i = 0; i < many; ++i) {
      for (int client = 0; client < team.num_clients(); ++client) {
        Notice notice{.kind = Notice::Kind::failed, .number = i};
        std::fill_n(notice.text, Notice::text_bytes - 1, static_cast<char>('a' + i % 26));
        side.receiver->notify(client, notice);
      }
    }
  }
  if (side.sender) {
    const double until_s = now_s() + limit_s;
    int next = 0;
    while (next < many && now_s() < until_s) {
      for (Notice notice; side.sender->take_notice(notice); ++next) {
        ASSERT_EQ(notice.number, next);
        ASSERT_EQ(std::string(notice.text),
                  std::string(Notice::text_bytes - 1, static_cast<char>('a' + next % 26)));
      }
      side.sender->wait(0.1);
    }
    EXPECT_EQ(next, many);
    side.sender->leave(limit_s);
  }
  if (side.receiver) {
    while (!side.receiver->all_left()) {
      side.receiver->wait(0.1);
      side.receiver->progress();
    }
  }
}

TEST_P(Transports, WrongPacketsAreRefused) {
  if (GetParam() == "node") GTEST_SKIP() << "looks at nothing but the flag";
  Side side(transport(), team,
            {.client_bytes = 1 << 20, .server_bytes = 1 << 18, .watchdog_s = limit_s});
  if (side.sender) {
    std::vector<std::byte> elsewhere(100);
    EXPECT_THROW(side.sender->hand_over(0, elsewhere, 0), Error);
    EXPECT_THROW(side.sender->hand_over(0, side.sender->memory().first(0), 0), Error);
  }
  run_traffic(side, team, {.packets = 5, .largest = 200'000});
}

// The server sleeps for longer than the watchdog allows; it is missed, and when it is back all goes
// on.
TEST_P(Transports, ASilentServerIsMissed) {
  if (GetParam() == "node") GTEST_SKIP() << "is told of a server's end by the system";
  Side side(transport(), team,
            {.client_bytes = 4 << 20, .server_bytes = 4 << 20, .watchdog_s = 0.5});
  if (side.sender) {
    const auto packet = side.sender->memory().first(3 << 20);
    fill(packet, team.client, 0, 0);
    side.sender->hand_over(0, packet, 0);
    try {
      const double until_s = now_s() + limit_s;
      while (now_s() < until_s) side.sender->wait(0.05);
      ADD_FAILURE() << "nobody missed the server";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.code(), Errc::io);
      for (const auto& word :
           {GetParam(), "server 0 (rank " + std::to_string(team.num_clients())}) {
        EXPECT_NE(text.find(word), std::string::npos) << text;
      }
    }
    barrier();
    side.sender->progress();
    side.sender->leave(limit_s);
  }
  if (side.receiver) {
    barrier();
    while (!side.receiver->all_left()) {
      side.receiver->wait(0.1);
      for (Arrival arrival; side.receiver->take(arrival);) {
        EXPECT_EQ(check(arrival.bytes, arrival.client, 0), "");
        side.receiver->release(arrival);
      }
    }
  }
}

TEST_P(Transports, WrongSettingsAreRefusedOnAllRanks) {
  if (GetParam() == "node") GTEST_SKIP() << "has none of these settings";
  auto settings = settings_of({});
  if (team.all.rank() == 0) settings.chunk_bytes = 0;
  EXPECT_THROW(Side(transport(), team, settings), Error);
}

TEST(TransportTable, AutoSaysWhy) {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  Team team = make_team(MPI_COMM_WORLD, usual_servers(n));
  std::string why;
  EXPECT_STREQ(choose_transport(team, settings_of({}), why).name, "node");
  EXPECT_FALSE(why.empty());
  for (int& node : team.node_of_rank) node = static_cast<int>(&node - team.node_of_rank.data());
  const std::string name = choose_transport(team, settings_of({}), why).name;
  EXPECT_TRUE(name == "pull" || name == "push_any") << name;
  EXPECT_NE(why.find("different nodes"), std::string::npos) << why;
  EXPECT_THROW(find_transport("pigeon"), Error);
}

TEST(TransportTable, AutoMeasuresBetweenNodes) {
  const Comm comm(MPI_COMM_WORLD);
  const TempFolder folder(comm);
  const Environment file("TAILRACE_TUNE_FILE", folder / "tune.json");
  const Environment first_use("TAILRACE_TUNE", "first_use"), budget("TAILRACE_TUNE_BUDGET_S", "1");
  Team team = make_team(comm.raw(), usual_servers(comm.num_ranks()));
  for (int& node : team.node_of_rank) node = static_cast<int>(&node - team.node_of_rank.data());
  std::string why;
  const std::string chosen = choose_transport(team, settings_of({}), why).name;
  EXPECT_NE(why.find("by measurement"), std::string::npos) << why;
  MPI_Barrier(comm.raw());
  const auto entries = tune::list_remembered(folder / "tune.json");
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].operation, "transport");
  EXPECT_EQ(entries[0].winner, chosen);
  EXPECT_GE(entries[0].timings.size(), 3U);
  for (const auto& timing : entries[0].timings) {
    EXPECT_EQ(find_transport(timing.name).refuses(team), "");
    if (timing.trouble.starts_with("not tried: the budget")) continue;  // the machine is busy
    EXPECT_EQ(timing.trouble, "") << timing.name;
    EXPECT_GT(timing.num_samples, 0) << timing.name;
  }
  EXPECT_EQ(choose_transport(team, settings_of({}), why).name, chosen);
  EXPECT_NE(why.find("remembered"), std::string::npos) << why;
}

}  // namespace
}  // namespace tailrace::server::test
