// SPDX-License-Identifier: BSD-3-Clause
// Staging memory is taken from the node as steps need it, and only as much as the node has.
#include "server/client.hpp"

#include <cerrno>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

namespace tailrace::server {
namespace {

constexpr std::ptrdiff_t page = 4096;

/// A node that has no more than `node_bytes` of the memory.
class SenderOfASmallNode : public Sender {
 public:
  explicit SenderOfASmallNode(std::ptrdiff_t node_bytes) : node_bytes_(node_bytes) {}
  std::span<std::byte> memory() override { return memory_; }
  void provide(std::ptrdiff_t bytes) override {
    if (bytes > node_bytes_) throw Error(Errc::io, "the node has no more", ENOMEM);
    EXPECT_GT(bytes, provided) << "asked for twice";
    provided = bytes;
  }
  bool can_hand_over(int) const override { return true; }
  void hand_over(int, std::span<const std::byte>, int) override { ++handed_over; }
  void progress() override {}
  void take_released(std::vector<const std::byte*>&) override {}
  bool take_notice(Notice& notice) override {
    if (notices.empty()) return false;
    notice = notices.front();
    notices.pop_front();
    return true;
  }
  void wait(double) override {}
  void leave(double) override {}
  std::ptrdiff_t provided = 0;
  int handed_over = 0;
  std::deque<Notice> notices;

 private:
  std::ptrdiff_t node_bytes_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(16 * page);
};

class ClientTest : public ::testing::Test {
 protected:
  Client make(std::ptrdiff_t node_bytes) {
    auto made = std::make_unique<SenderOfASmallNode>(node_bytes);
    sender = made.get();
    return Client(team, std::move(made));
  }
  Team team{Team::Kind::ranks, Comm(MPI_COMM_WORLD), {}, {}, {0}, {0}, {0}};
  SenderOfASmallNode* sender = nullptr;
};

TEST_F(ClientTest, MemoryIsTakenAsBlocksNeedIt) {
  auto client = make(16 * page);
  EXPECT_EQ(sender->provided, 0);
  const auto first = client.allocate(0, 3 * page);
  ASSERT_TRUE(first);
  EXPECT_EQ(sender->provided, 3 * page);
  const auto second = client.allocate(0, 2 * page);
  EXPECT_EQ(sender->provided, 5 * page);
  client.free(first->data());
  ASSERT_TRUE(client.allocate(0, 3 * page)) << "in the place of the first";
  EXPECT_EQ(sender->provided, 5 * page);
  EXPECT_EQ(second->data() - first->data(), 3 * page);
}

TEST_F(ClientTest, WhatTheNodeDoesNotHaveIsNotCapacity) {
  auto client = make(8 * page);
  const auto first = client.allocate(0, 6 * page);
  ASSERT_TRUE(first);
  EXPECT_FALSE(client.allocate(0, 4 * page));
  EXPECT_EQ(client.capacity(), 6 * page);
  EXPECT_FALSE(client.allocate(0, 64)) << "the first block has all";
  client.free(first->data());
  EXPECT_TRUE(client.allocate(0, 6 * page));
  EXPECT_EQ(sender->provided, 6 * page);
}

TEST_F(ClientTest, WhatServersNeedBesidesPacketsIsNotGivenAway) {
  auto client = make(16 * page);
  const auto stream = client.add_stream();
  const auto other = client.add_stream();
  const Client::Work work{stream, 6 * page};
  ASSERT_TRUE(client.allocate(0, 4 * page, work));
  client.note_work(work, 0);
  EXPECT_FALSE(client.allocate(0, 7 * page, work));
  ASSERT_TRUE(client.allocate(0, 4 * page, work)) << "one step of a stream after another";
  client.note_work(work, 1);
  EXPECT_FALSE(client.allocate(0, 3 * page, {other, 0}));
  EXPECT_FALSE(client.allocate(0, page, {other, 2 * page})) << "other streams work meanwhile";
  EXPECT_TRUE(client.allocate(0, page, {other, page}));
  Notice notice;
  notice.kind = Notice::Kind::text;
  notice.stream = stream;
  sender->notices.push_back(notice);
  client.progress();
  EXPECT_FALSE(client.allocate(0, 6 * page, {other, 0})) << "the step has not ended";
  for (const int number : {0, 1}) {
    notice.kind = Notice::Kind::committed;
    notice.number = number;
    sender->notices.push_back(notice);
  }
  client.progress();
  EXPECT_TRUE(client.allocate(0, 6 * page, {other, 0}));
}

// A packet in the middle of the memory could keep another one of its step out for ever.
TEST_F(ClientTest, ASpilledStepGetsRoomForAllItsPacketsOrNone) {
  auto client = make(16 * page);
  const auto stream = client.add_stream();
  const auto first = client.allocate(0, 4 * page), middle = client.allocate(0, 4 * page);
  const auto last = client.allocate(0, 8 * page);
  ASSERT_TRUE(first && middle && last);
  Spill spill("");
  const std::vector<std::byte> small(4 * page), large(12 * page);
  spill.put(small, 0, 0);
  spill.put(large, 1, 0);
  client.note_spilled(spill, 2, {stream, 0}, 0);
  client.free(middle->data());
  client.progress();
  EXPECT_EQ(sender->handed_over, 0) << "there is room for one of them";
  client.free(first->data());
  client.free(last->data());
  client.progress();
  EXPECT_EQ(sender->handed_over, 2);
  EXPECT_FALSE(client.has_spilled());
}

// A rank without packets of a step may hear of its end before it has handed it over itself.
TEST_F(ClientTest, ANoticeThatComesBeforeItsStepIsKept) {
  auto client = make(16 * page);
  const auto stream = client.add_stream();
  sender->notices.push_back({.kind = Notice::Kind::committed, .stream = stream, .number = 3});
  client.progress();
  WholeNotice told;
  EXPECT_FALSE(client.take_notice(stream, 3, told)) << "step 3 has not been handed over";
  const Client::Work work{stream, 12 * page};
  client.note_work(work, 3);
  EXPECT_TRUE(client.allocate(0, 8 * page)) << "step 3 needs no memory any more";
  ASSERT_TRUE(client.take_notice(stream, 4, told));
  EXPECT_EQ(told.notice.number, 3);
  EXPECT_FALSE(client.take_notice(stream, 4, told));
}

}  // namespace
}  // namespace tailrace::server
