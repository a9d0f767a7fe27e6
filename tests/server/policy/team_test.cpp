// SPDX-License-Identifier: BSD-3-Clause
// The ranks of this machine, split as asked for.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "server/policy/roles.hpp"
#include "tailrace/error.hpp"
#include "tailrace/session.hpp"

namespace tailrace::server {
namespace {

using Kind = Team::Kind;

class TeamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // A setting of whoever runs the tests is not meant for them.
    unsetenv("TAILRACE_SERVERS");
    unsetenv("TAILRACE_TRANSPORT");
  }
  void TearDown() override { SetUp(); }

  static Decision make(const std::string& servers) {
    OutputOptions options;
    options.servers = servers;
    return make_team(Comm(MPI_COMM_WORLD), options);
  }
  static void expect_all_compute(const Team& team, const Comm& world) {
    ASSERT_TRUE(team.compute.has_value());
    EXPECT_FALSE(team.servers.has_value());
    EXPECT_EQ(team.compute->num_ranks(), world.num_ranks());
    EXPECT_EQ(team.client, world.rank());
    EXPECT_EQ(team.num_clients(), world.num_ranks());
  }

  const Comm world{MPI_COMM_WORLD};
};

TEST_F(TeamTest, None) {
  const auto decision = make("none");
  EXPECT_EQ(decision.team.kind, Kind::none);
  expect_all_compute(decision.team, world);
  EXPECT_EQ(decision.team.num_servers(), 0);
  EXPECT_EQ(decision.team.server, -1);
  EXPECT_EQ(decision.team.all.num_ranks(), world.num_ranks());
}

TEST_F(TeamTest, ThreadOfTheFirstRankOfTheNode) {
  const auto team = make("thread").team;
  EXPECT_EQ(team.kind, Kind::thread);
  expect_all_compute(team, world);
  EXPECT_EQ(team.rank_of_server, std::vector<int>{0});
  EXPECT_EQ(team.server, world.rank() == 0 ? 0 : -1);
  EXPECT_TRUE(team.by_node);
  EXPECT_EQ(team.node_of_rank, std::vector<int>(static_cast<std::size_t>(world.num_ranks()), 0));
}

TEST_F(TeamTest, RanksOfTheirOwn) {
  if (world.num_ranks() < 4) {
    EXPECT_THROW(make("1"), Error);
    return;
  }
  const auto team = make("2").team;
  EXPECT_EQ(team.kind, Kind::ranks);
  EXPECT_EQ(team.rank_of_server, (std::vector<int>{1, 3}));
  EXPECT_EQ(team.rank_of_client, (std::vector<int>{0, 2}));
  const bool serves = world.rank() % 2 == 1;
  EXPECT_EQ(team.compute.has_value(), !serves);
  EXPECT_EQ(team.servers.has_value(), serves);
  EXPECT_EQ(team.server, serves ? world.rank() / 2 : -1);
  EXPECT_EQ(team.client, serves ? -1 : world.rank() / 2);
  const Comm& part = serves ? *team.servers : *team.compute;
  EXPECT_EQ(part.num_ranks(), 2);
  EXPECT_EQ(part.rank(), world.rank() / 2);
}

TEST_F(TeamTest, TheEnvironmentGoesBeforeAndRankZeroDecides) {
  if (world.rank() == 0) setenv("TAILRACE_SERVERS", "none", 1);
  if (world.rank() == 1) setenv("TAILRACE_SERVERS", "nonsense", 1);
  const auto decision = make("thread");
  EXPECT_EQ(decision.team.kind, Kind::none);
  EXPECT_EQ(decision.reason, "servers = \"none\"");
}

TEST_F(TeamTest, WrongOptionsAreRefusedOnAllRanks) {
  for (const char* wrong : {"some", "99"}) {
    try {
      make(wrong);
      ADD_FAILURE() << wrong << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
    }
  }
}

TEST_F(TeamTest, AutoSaysWhyOnAllRanksAlike) {
  OutputOptions options;
  options.folder = "missing/yet";  // measured in the folder above
  const auto decision = make_team(Comm(MPI_COMM_WORLD), options);
  EXPECT_EQ(decision.reason.rfind("auto: ", 0), 0u) << decision.reason;
  EXPECT_NE(decision.reason.find("GB/s"), std::string::npos) << decision.reason;
  std::string first = decision.reason;
  first.resize(400);
  MPI_Bcast(first.data(), 400, MPI_CHAR, 0, world.raw());
  EXPECT_EQ(std::string(first.c_str()), decision.reason);
  if (world.rank() == 0) std::printf("%s\n", decision.reason.c_str());
  EXPECT_FALSE(std::filesystem::exists("missing"));
}

TEST_F(TeamTest, ClientsOfANodeAreDealtOutToItsServers) {
  auto team = make("none").team;
  team.by_node = true;
  // Two nodes of 6 ranks; ranks 2, 5 and 8, 11 serve.
  team.node_of_rank = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  team.rank_of_client = {0, 1, 3, 4, 6, 7, 9, 10};
  team.rank_of_server = {2, 5, 8, 11};
  std::vector<int> servers;
  for (int client = 0; client < 8; ++client) servers.push_back(team.server_of_client(client));
  EXPECT_EQ(servers, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(team.clients_of_server(2), (std::vector<int>{4, 5}));
  // Threads: every rank is a client, one server on each node, ranks dealt out in turn.
  team.node_of_rank = {0, 1, 0, 1, 0};
  team.rank_of_client = {0, 1, 2, 3, 4};
  team.rank_of_server = {0, 1};
  servers.clear();
  for (int client = 0; client < 5; ++client) servers.push_back(team.server_of_client(client));
  EXPECT_EQ(servers, (std::vector<int>{0, 1, 0, 1, 0}));
  EXPECT_EQ(team.clients_of_server(0), (std::vector<int>{0, 2, 4}));
  // Otherwise every server has something of every client.
  team.by_node = false;
  EXPECT_EQ(team.clients_of_server(1), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(SpeedTest, FiguresAreReal) {
  namespace fs = std::filesystem;
  auto folder = (fs::temp_directory_path() / "tailrace_speed_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto disk = measure_disk(folder);
  EXPECT_GT(disk.bytes_per_s, 0);
  EXPECT_GT(disk.busy, 0) << "writing takes time of the processor";
  EXPECT_EQ(measure_disk("/proc").bytes_per_s, 0) << "where no file can be made";
  EXPECT_GT(measure_copying(), 0);
  EXPECT_TRUE(fs::is_empty(folder)) << "nothing is left behind";
  fs::remove(folder);
}

TEST(SpeedTest, AFolderThatCannotBeWrittenIsUnknown) {
  EXPECT_EQ(measure_disk("/proc").bytes_per_s, 0);
}

}  // namespace
}  // namespace tailrace::server
