// SPDX-License-Identifier: BSD-3-Clause
// Which packets come into a server's receive memory: the oldest of every client always does, else
// the steps in memory wait for packets that have no room.
#include "server/transports/receive_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

constexpr std::ptrdiff_t page = 4096;

/// Clients that offer packets of numbered steps, and a server that holds a step until it is whole.
class ReceiveQueueTest : public ::testing::Test {
 protected:
  void make(int num_clients, std::ptrdiff_t memory_bytes) {
    queue.emplace(num_clients, memory_bytes, ReceiveQueue::Order::by_priority);
  }
  void offer(int client, std::uint64_t number, std::ptrdiff_t bytes, int priority = 0) {
    queue->add({.client = client, .priority = priority, .sequence = number, .bytes = bytes});
  }
  /// Takes in all that may come now; returns how many packets.
  int take_all() {
    int count = 0;
    while (const auto packet = queue->accept()) {
      EXPECT_EQ(std::ssize(packet->place), packet->offer.bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet->place.data()) % 64, 0u);
      std::ranges::fill(packet->place, mark(packet->offer.client, packet->offer.sequence));
      queue->finish(*packet);
      ++count;
    }
    for (Arrival arrival; queue->take(arrival);) {
      held[{arrival.handle, arrival.client}] = arrival;
    }
    return count;
  }
  bool has(int client, std::uint64_t number) const { return held.contains({number, client}); }
  void release(int client, std::uint64_t number) {
    const auto node = held.extract({number, client});
    ASSERT_FALSE(node.empty());
    const auto& arrival = node.mapped();
    EXPECT_TRUE(std::ranges::all_of(arrival.bytes, [&](std::byte byte) {
      return byte == mark(client, number);
    })) << "another packet lies in its place";
    queue->release(arrival);
  }
  static std::byte mark(int client, std::uint64_t number) {
    return static_cast<std::byte>(7 * number + static_cast<std::uint64_t>(client));
  }

  std::optional<ReceiveQueue> queue;
  std::map<std::pair<std::uint64_t, int>, Arrival> held;
};

TEST_F(ReceiveQueueTest, AStepLargerThanTheMemoryIsTakenInWhole) {
  make(3, 4 * page);
  for (int client = 0; client < 3; ++client) offer(client, 1, 3 * page);
  EXPECT_EQ(take_all(), 3);
}

TEST_F(ReceiveQueueTest, APacketLargerThanTheMemoryIsTakenIn) {
  make(1, page);
  offer(0, 1, 10 * page);
  EXPECT_EQ(take_all(), 1);
}

TEST_F(ReceiveQueueTest, RoomThatIsKeptIsNotFilledWithNewerPackets) {
  make(1, 4 * page);
  queue->keep_room(2 * page);
  for (std::uint64_t number = 1; number <= 4; ++number) offer(0, number, page);
  EXPECT_EQ(take_all(), 2);
  queue->keep_room(4 * page);
  release(0, 1);
  release(0, 2);
  EXPECT_EQ(take_all(), 1) << "the oldest must be taken";
  queue->keep_room(0);
  EXPECT_EQ(take_all(), 1);
}

TEST_F(ReceiveQueueTest, OneClientAheadDoesNotKeepTheOthersOut) {
  make(2, 4 * page);
  for (std::uint64_t number = 1; number <= 4; ++number) offer(0, number, page);
  EXPECT_EQ(take_all(), 4) << "nobody else is known to want room";
  offer(1, 1, page);
  EXPECT_EQ(take_all(), 1);
}

TEST_F(ReceiveQueueTest, HolesThatAreTooSmallDoNotKeepAPacketOut) {
  make(2, 6 * page);
  for (std::uint64_t number = 1; number <= 6; ++number) offer(0, number, page);
  EXPECT_EQ(take_all(), 6);
  for (const std::uint64_t number : {2, 4, 6}) release(0, number);
  offer(1, 1, 2 * page);
  EXPECT_EQ(take_all(), 1);
}

TEST_F(ReceiveQueueTest, ALaterStepThatCameFirstDoesNotKeepAnEarlierOneOut) {
  make(2, 2 * page);
  offer(0, 2, 2 * page, 1);  // of another stream, which goes first
  EXPECT_EQ(take_all(), 1);
  offer(0, 1, 2 * page);
  offer(0, 3, 2 * page, 1);
  EXPECT_EQ(take_all(), 1);
  EXPECT_TRUE(has(0, 1)) << "older than all that is held";
  EXPECT_FALSE(has(0, 3)) << "steps before it are held";
  release(0, 1);
  EXPECT_EQ(take_all(), 0);
  release(0, 2);
  EXPECT_EQ(take_all(), 1);
}

TEST_F(ReceiveQueueTest, WhatIsNotTheOldestWaitsForRoom) {
  make(2, 4 * page);
  for (int client = 0; client < 2; ++client) {
    for (std::uint64_t number = 1; number <= 5; ++number) offer(client, number, 2 * page);
  }
  EXPECT_EQ(take_all(), 2);
  EXPECT_TRUE(has(0, 1) && has(1, 1));
  release(0, 1);
  EXPECT_EQ(take_all(), 1);
  EXPECT_TRUE(has(0, 2));
}

TEST_F(ReceiveQueueTest, MemoryBeyondIsUsedAgain) {
  make(2, page);
  std::set<const std::byte*> places;
  for (std::uint64_t number = 1; number <= 5; ++number) {
    for (const int client : {0, 1}) offer(client, number, (2 + client) * page);
    EXPECT_EQ(take_all(), 2);
    for (const int client : {0, 1}) {
      places.insert(held[{number, client}].bytes.data());
      release(client, number);
    }
  }
  EXPECT_EQ(places.size(), 2u);
}

TEST_F(ReceiveQueueTest, NothingIsReleasedTwice) {
  make(1, page);
  offer(0, 1, page);
  take_all();
  const auto arrival = held[{1, 0}];
  queue->release(arrival);
  EXPECT_THROW(queue->release(arrival), Error);
}

// Steps of random sizes and priorities, of which each client may be ahead of the others: whatever
// is offered in whatever order, all steps become whole, one after another.
TEST_F(ReceiveQueueTest, EveryStepBecomesWhole) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const int num_clients = 1 + static_cast<int>(random() % 4);
    make(num_clients, static_cast<std::ptrdiff_t>(1 + random() % 8) * page);
    held.clear();
    constexpr std::uint64_t num_steps = 30;
    std::vector<int> priorities;
    for (std::uint64_t number = 0; number <= num_steps; ++number) {
      priorities.push_back(static_cast<int>(random() % 3));
    }
    std::vector<std::uint64_t> offered(static_cast<std::size_t>(num_clients));
    std::uint64_t oldest = 1;
    for (int turn = 0; oldest <= num_steps; ++turn) {
      ASSERT_LT(turn, 100'000) << "step " << oldest << " of round " << round << " waits for ever";
      for (int client = 0; client < num_clients; ++client) {
        auto& last = offered[static_cast<std::size_t>(client)];
        if (last == num_steps || last > oldest + 6 || random() % 3 == 0) continue;
        ++last;
        offer(client, last, 64 + static_cast<std::ptrdiff_t>(random() % 16'000), priorities[last]);
      }
      take_all();
      bool whole = true;
      for (int client = 0; client < num_clients; ++client) whole &= has(client, oldest);
      if (!whole) continue;
      for (int client = 0; client < num_clients; ++client) release(client, oldest);
      ++oldest;
    }
  }
}

}  // namespace
}  // namespace tailrace::server
