// SPDX-License-Identifier: BSD-3-Clause
// Starting and ending server processes, and programs that are none.
#include "server/process/launcher.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

namespace fs = std::filesystem;

Team team_with_process() {
  Comm all(MPI_COMM_WORLD);
  const auto num_ranks = static_cast<std::size_t>(all.num_ranks());
  const int rank = all.rank();
  std::vector<int> ranks;
  for (int r = 0; r < all.num_ranks(); ++r) ranks.push_back(r);
  return {Team::Kind::process,
          std::move(all),
          {},
          {},
          ranks,
          {0},
          std::vector<int>(num_ranks, 0),
          rank,
          -1,
          true};
}

TransportSettings settings() {
  TransportSettings settings;
  settings.client_bytes = 1 << 16;
  settings.watchdog_s = 30;
  return settings;
}

// Ours are the only children of a test but for those of the launcher of the job.
bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

TEST(ServerProcess, EndsWhenItsClientsHaveLeft) {
  const Team team = team_with_process();
  ServerProcess process(team, settings(), 1);
  const auto sender = process.take_sender();
  EXPECT_EQ(sender->memory().size(), 1U << 16);
  sender->leave(30);
  EXPECT_TRUE(process.finish(30));
  EXPECT_FALSE(has_children());
  MPI_Barrier(team.all.raw());
}

TEST(ServerProcess, IsToldToEndWhenClientsDoNotLeave) {
  const Team team = team_with_process();
  { const ServerProcess process(team, settings(), 1); }
  EXPECT_FALSE(has_children());
}

// A folder with a program of the server's name.
class WrongProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    folder_ = fs::temp_directory_path() /
              ("wrong_program_" + std::to_string(getpid()) + "_" + std::to_string(rank));
    fs::create_directories(folder_);
    setenv("TAILRACE_BIN_DIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TAILRACE_BIN_DIR");
    fs::remove_all(folder_);
  }

  void expect_failure(const std::string& program, const std::string& text) {
    const auto path = folder_ / "tailrace-server";
    std::ofstream(path) << program;
    fs::permissions(path, fs::perms::owner_all);
    EXPECT_EQ(find_server_program(), path.string());
    const Team team = team_with_process();
    try {
      const ServerProcess process(team, settings(), 1);
      FAIL() << "started";
    } catch (const Error& error) {  // on every rank
      EXPECT_EQ(error.code(), Errc::io);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
    EXPECT_FALSE(has_children());
  }

  fs::path folder_;
};

TEST_F(WrongProgram, ThatEndsAtOnce) { expect_failure("#!/bin/sh\nexit 3\n", "ended at once"); }

TEST_F(WrongProgram, ThatIsNone) { expect_failure("\x7f", "cannot be started"); }

TEST(ProcessArguments, AreReadAsWritten) {
  ProcessArguments arguments;
  arguments.server = 2;
  arguments.threads = 3;
  arguments.watchdog_s = 0.5;
  arguments.block = {.pid = 10, .fd = 11, .bytes = 12, .client = -1, .padding = 0};
  arguments.clients = {
      {.pid = 1, .fd = 2, .bytes = std::int64_t{1} << 40, .client = 7, .padding = 0}};
  const auto words = arguments.words();
  std::vector<const char*> pointers;
  for (const auto& word : words) pointers.push_back(word.c_str());
  EXPECT_EQ(ProcessArguments::parse(pointers).words(), words);
  pointers.push_back("colour=red");
  EXPECT_THROW(ProcessArguments::parse(pointers), Error);
  EXPECT_THROW(ProcessArguments::parse({}), Error);
}

}  // namespace
}  // namespace tailrace::server
