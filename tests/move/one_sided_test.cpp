// SPDX-License-Identifier: BSD-3-Clause
// One-sided windows, and what trying them tells, also where MPI fails to make them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "environment.hpp"
#include "move/block_traffic.hpp"
#include "move/one_sided_window.hpp"

namespace {

// The rank whose windows cannot be made, as by Open MPI between nodes that have only TCP.
int rank_without_windows = -1;
// The rank whose reads fail.
int rank_without_reads = -1;

bool is_me(int rank) {
  int me = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &me);
  return rank == me;
}

}  // namespace

extern "C" {
using Allocate = int (*)(MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*);
static int allocate_or_fail(Allocate allocate, MPI_Aint bytes, int unit, MPI_Info info,
                            MPI_Comm comm, void* base, MPI_Win* win) {
  const int status = allocate(bytes, unit, info, comm, base, win);
  if (status != MPI_SUCCESS || rank_without_windows < 0) return status;
  PMPI_Win_free(win);
  *win = MPI_WIN_NULL;
  return is_me(rank_without_windows) ? MPI_ERR_WIN : MPI_SUCCESS;
}
int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                     MPI_Win* win) {
  return allocate_or_fail(PMPI_Win_allocate, bytes, unit, info, comm, base, win);
}
int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* win) {
  return allocate_or_fail(PMPI_Win_allocate_shared, bytes, unit, info, comm, base, win);
}
int MPI_Rget(void* buffer, int count, MPI_Datatype type, int rank, MPI_Aint offset, int there_count,
             MPI_Datatype there_type, MPI_Win win, MPI_Request* request) {
  if (is_me(rank_without_reads)) return MPI_ERR_RMA_SYNC;
  return PMPI_Rget(buffer, count, type, rank, offset, there_count, there_type, win, request);
}
}

namespace tailrace {
namespace {

// The same text on all ranks?
void expect_agreed(const Comm& comm, const std::string& text) {
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, comm.raw());
  std::string first = text;
  first.resize(static_cast<std::size_t>(length));
  MPI_Bcast(first.data(), length, MPI_CHAR, 0, comm.raw());
  EXPECT_EQ(text, first);
}

// What takes windows is skipped where there are none: Open MPI 4.1 makes none over TCP.
TEST(OneSidedWindow, IsReadAndWrittenByOthers) {
  const Comm comm(MPI_COMM_WORLD);
  if (const auto why = probe_windows(comm); !why.empty()) GTEST_SKIP() << why;
  const int next = (comm.rank() + 1) % comm.num_ranks();
  const std::array<int, 1> targets{next};
  for (const bool all : {true, false}) {
    // Ranks have windows of different sizes.
    const std::ptrdiff_t bytes = 16 + 24 * comm.rank();
    const OneSidedWindow of_all(comm, bytes);
    const OneSidedWindow of_one(comm, bytes, targets);
    const auto& window = all ? of_all : of_one;
    EXPECT_EQ(std::ssize(window.own()), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(window.own().data()) % 64, 0U);
    EXPECT_TRUE(std::ranges::all_of(window.own(), [](auto byte) { return byte == std::byte{}; }));
    window.own()[9] = static_cast<std::byte>(comm.rank() + 1);
    window.sync();
    MPI_Barrier(comm.raw());
    std::array<std::byte, 2> found{};
    auto request = window.start_get(next, 8, found);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(found[0], std::byte{});
    EXPECT_EQ(found[1], static_cast<std::byte>(next + 1));
    MPI_Barrier(comm.raw());
    const std::array<std::byte, 1> sent{static_cast<std::byte>(100 + comm.rank())};
    window.put(next, 15, sent);
    MPI_Barrier(comm.raw());
    window.sync();
    const int last = (comm.rank() + comm.num_ranks() - 1) % comm.num_ranks();
    EXPECT_EQ(window.own()[15], static_cast<std::byte>(100 + last));
  }
}

// Pairs of ranks on two made-up nodes, so that no pair is on one of them.
TEST(OneSidedWindow, PairsMakeTheirsAtTheSameTime) {
  const Environment two("TAILRACE_RANKS_PER_NODE", "2");
  const Comm comm(MPI_COMM_WORLD);
  if (comm.num_ranks() != 4) GTEST_SKIP() << "needs 4 ranks";
  if (const auto why = probe_windows(comm); !why.empty()) GTEST_SKIP() << why;
  MPI_Comm raw = MPI_COMM_NULL;
  MPI_Comm_split(comm.raw(), comm.rank() % 2, comm.rank(), &raw);
  const Comm pair(raw);
  MPI_Comm_free(&raw);
  for (int i = 0; i < 50; ++i) {
    const OneSidedWindow window(pair, 64);
    window.own()[0] = static_cast<std::byte>(comm.rank() + i);
    window.sync();
    MPI_Barrier(pair.raw());
    std::array<std::byte, 1> found{};
    auto request = window.start_get(1 - pair.rank(), 0, found);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(found[0], static_cast<std::byte>((comm.rank() + 2) % 4 + i));
    MPI_Barrier(pair.raw());
  }
}

TEST(OneSidedWindow, OfNoBytesCanBeMade) {
  const Comm comm(MPI_COMM_WORLD);
  if (const auto why = probe_windows(comm); !why.empty()) GTEST_SKIP() << why;
  const OneSidedWindow window(comm, 0);
  EXPECT_TRUE(window.own().empty());
}

TEST(OneSidedProbe, SaysTheSameOnAllRanks) {
  const Comm comm(MPI_COMM_WORLD);
  const auto windows = probe_windows(comm);
  expect_agreed(comm, windows);
  const auto probe = probe_one_sided(comm);
  expect_agreed(comm, describe(probe));
  EXPECT_FALSE(describe(probe).empty());
  if (comm.rank() == 0) std::printf("%s; %s\n", windows.c_str(), describe(probe).c_str());
}

// On a busy machine a reader may be late more than once.
TEST(OneSidedProbe, WaitsForLateReadersButNotForOwners) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<int> targets(comm.rank() == comm.num_ranks() - 1 ? 1 : 0, 0);
  const auto probe_late = [&](int times) {
    return probe_reads(comm, targets, [&times](int other) {
      if (times-- > 0) std::this_thread::sleep_for(std::chrono::milliseconds(400));
      return std::int64_t{other};
    });
  };
  EXPECT_EQ(probe_late(3).trouble, "");
  EXPECT_NE(probe_late(100).trouble, "");  // longer than all owners sleep
  const auto wrong = probe_reads(comm, targets, [](int) { return std::int64_t{-1}; });
  EXPECT_NE(wrong.trouble, "");
}

TEST(OneSidedProbe, TellsOfWindowsThatCanNotBeMade) {
  const Comm comm(MPI_COMM_WORLD);
  rank_without_windows = comm.num_ranks() - 1;
  const auto windows = probe_windows(comm);
  const auto probe = probe_one_sided(comm);
  rank_without_windows = -1;
  EXPECT_NE(windows.find("makes no window"), std::string::npos) << windows;
  EXPECT_EQ(probe.trouble, windows);
  expect_agreed(comm, windows);
}

TEST(OneSidedProbe, TellsOfReadsThatFail) {
  const Comm comm(MPI_COMM_WORLD);
  if (const auto why = probe_windows(comm); !why.empty()) GTEST_SKIP() << why;
  rank_without_reads = comm.num_ranks() - 1;
  const auto windows = probe_windows(comm);
  const auto probe = probe_one_sided(comm);
  rank_without_reads = -1;
  EXPECT_NE(windows.find("reads"), std::string::npos) << windows;
  expect_agreed(comm, windows);
  EXPECT_EQ(probe.trouble.empty(), comm.num_ranks() == 1);
  expect_agreed(comm, probe.trouble);
}

TEST(Pull, DoesNotApplyWithoutWindows) {
  const Comm comm(MPI_COMM_WORLD);
  if (const auto why = probe_windows(comm); !why.empty()) GTEST_SKIP() << why;
  const Surroundings machine(comm);
  const auto shape = block_shape(comm, 8, 1, [](auto, int, int) { return 3; });
  const BlockProblem problem{comm, shape, machine};
  EXPECT_TRUE(block_pull_applies(problem));
  if (comm.num_ranks() == 1) return;
  rank_without_windows = 0;
  EXPECT_FALSE(block_pull_applies(problem));
  // Made nevertheless, it says why not, on all ranks.
  try {
    make_block_pull(problem);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::mpi);
    expect_agreed(comm, error.what());
  }
  rank_without_windows = -1;
}

TEST(ProbeTargets, AreAFewOthersForEachReader) {
  const std::vector<int> ranks{3, 4, 5, 6};
  EXPECT_EQ(probe_targets(-1, ranks), std::vector<int>{});
  EXPECT_EQ(probe_targets(0, ranks), ranks);
  EXPECT_EQ(probe_targets(1, ranks), (std::vector<int>{4, 5, 6, 3}));
  EXPECT_EQ(std::ssize(probe_targets(2, std::vector<int>(1000))), 8);
}

}  // namespace
}  // namespace tailrace
