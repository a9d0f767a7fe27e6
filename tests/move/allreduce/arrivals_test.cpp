// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/wait.hpp"
#include "move/arrivals.hpp"

namespace tailrace {
namespace {

/// A rank's own round counter and the shared memory of a node.
TEST(Arrivals, RanksMeetAgainAndAgain) {
  const Comm comm(MPI_COMM_WORLD);
  const Comm& node = comm.node();
  const auto waiting = choose_wait_policy(find_wait_facts(comm));
  struct Shared {
    Arrivals arrivals;
    std::int64_t sum;
    std::int64_t values[64];
  };
  ASSERT_LE(node.num_ranks(), 64);
  NodeWindow window(node, node.rank() == 0 ? sizeof(Shared) : 0);
  auto& shared = *reinterpret_cast<Shared*>(window.segment(0));
  for (std::uint32_t round = 1; round <= 2000; ++round) {
    shared.values[node.rank()] = round + node.rank();
    shared.arrivals.arrive(node.num_ranks(), [&] {
      shared.sum = 0;
      for (int r = 0; r < node.num_ranks(); ++r) shared.sum += shared.values[r];
    });
    shared.arrivals.wait(round, waiting, comm.raw());
    ASSERT_TRUE(shared.arrivals.reached(round));
    ASSERT_FALSE(shared.arrivals.reached(round + 1));
    const int ranks = node.num_ranks() * (node.num_ranks() - 1) / 2;
    ASSERT_EQ(shared.sum, node.num_ranks() * static_cast<std::int64_t>(round) + ranks);
  }
}

TEST(Arrivals, OnlyTheLastOneEndsTheRound) {
  Arrivals arrivals{};
  int calls = 0;
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_FALSE(arrivals.reached(round + 1));
      arrivals.arrive(4, [&] { ++calls; });
    }
    EXPECT_TRUE(arrivals.reached(round + 1));
    EXPECT_EQ(calls, static_cast<int>(round) + 1);
  }
}

// Threads instead of ranks, so that a checker of races sees all of them.
TEST(Arrivals, WhatIsWrittenBeforeIsSeenAfter) {
  Arrivals arrivals{};
  constexpr int num_threads = 4;
  constexpr std::uint32_t num_rounds = 500;
  std::uint32_t values[num_threads] = {};
  std::uint32_t sum = 0;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < num_threads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint32_t round = 1; round <= num_rounds; ++round) {
        values[thread] = round;
        arrivals.arrive(num_threads, [&] {
          sum = 0;
          for (const auto value : values) sum += value;
        });
        while (!arrivals.reached(round)) std::this_thread::yield();
        if (sum != num_threads * round) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

// Rounds are counted modulo 2^32: the flag that they are told by goes on past the largest number.
TEST(Arrivals, RoundsWrapAround) {
  SequenceFlag flag{};
  constexpr std::uint32_t half = 0x80000000U;
  flag.publish(half - 1);
  flag.advance(half + half / 2);
  EXPECT_TRUE(flag.reached(half));
  flag.advance(0xffffffffU);
  EXPECT_TRUE(flag.reached(0xffffffffU));
  EXPECT_FALSE(flag.reached(0));
  flag.advance(0);
  EXPECT_TRUE(flag.reached(0xffffffffU));
  EXPECT_TRUE(flag.reached(0));
  EXPECT_FALSE(flag.reached(1));
  flag.advance(0xffffffffU);  // does not go back
  EXPECT_EQ(flag.value(), 0U);
}

TEST(Arrivals, SleepersAreWoken) {
  SequenceFlag flag{};
  std::vector<std::thread> waiters;
  std::atomic<int> woken{0};
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      while (!flag.wait_for(1, 10.0, 0)) {
      }
      ++woken;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(woken.load(), 0);
  flag.advance(1);
  for (auto& waiter : waiters) waiter.join();
  EXPECT_EQ(woken.load(), 4);
}

}  // namespace
}  // namespace tailrace
