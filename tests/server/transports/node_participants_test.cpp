// SPDX-License-Identifier: BSD-3-Clause
// The two sides of the node transport in one process: order, restarts of the server, full rings of
// notices, and servers that are gone.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/packet.hpp"
#include "server/transports/node_receiver.hpp"
#include "server/transports/node_sender.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server::on_node {
namespace {

constexpr std::ptrdiff_t slot_bytes = 256;
constexpr int num_slots = 64;

class NodeParticipants : public ::testing::Test {
 protected:
  NodeParticipants() : block_(sizeof(ServerBlock)) {
    server().pid = getpid();
    for (int client = 0; client < 2; ++client) {
      senders_.push_back(
          std::make_unique<NodeSender>(client, std::vector<int>{0}, num_slots * slot_bytes));
    }
  }

  ServerBlock& server() { return *reinterpret_cast<ServerBlock*>(block_.data()); }

  // As a process does that is started again: the same memory, nothing else.
  void start_server() {
    receiver_.reset();
    const Endpoint clients[] = {senders_[0]->endpoint(), senders_[1]->endpoint()};
    for (auto& sender : senders_) sender->set_server_block(0, block_.endpoint());
    receiver_.emplace(0, clients, Memory(block_.endpoint()));
  }

  std::byte* slot(int client, int number) {
    return senders_[static_cast<std::size_t>(client)]->memory().data() + number * slot_bytes;
  }

  // The packet lies in the slot of its number.
  void hand_over(int client, std::int64_t number, int priority = 0) {
    PacketHeader header;
    header.bytes = slot_bytes;
    header.client = client;
    header.number = number;
    std::byte* packet = slot(client, static_cast<int>(number % num_slots));
    std::memcpy(packet, &header, sizeof header);
    senders_[static_cast<std::size_t>(client)]->hand_over(0, {packet, slot_bytes}, priority);
  }

  static PacketHeader header_of(const Arrival& arrival) {
    PacketHeader header;
    std::memcpy(&header, arrival.bytes.data(), sizeof header);
    return header;
  }

  std::vector<Arrival> take_all() {
    std::vector<Arrival> arrivals;
    for (Arrival arrival; receiver_->take(arrival);) arrivals.push_back(arrival);
    return arrivals;
  }

  static std::set<std::pair<int, std::int64_t>> names(const std::vector<Arrival>& arrivals) {
    std::set<std::pair<int, std::int64_t>> names;
    for (const Arrival& arrival : arrivals) {
      names.emplace(arrival.client, header_of(arrival).number);
    }
    return names;
  }

  std::size_t num_released(int client) {
    std::vector<const std::byte*> released;
    senders_[static_cast<std::size_t>(client)]->take_released(released);
    return released.size();
  }

  Memory block_;
  std::vector<std::unique_ptr<NodeSender>> senders_;
  std::optional<NodeReceiver> receiver_;
};

TEST_F(NodeParticipants, HighPrioritiesGoFirst) {
  hand_over(0, 0, 1);
  hand_over(0, 1, 5);
  start_server();
  hand_over(0, 2, 1);
  hand_over(0, 3, 5);
  hand_over(0, 4, -2);
  std::vector<std::int64_t> order;
  for (const Arrival& arrival : take_all()) order.push_back(header_of(arrival).number);
  EXPECT_EQ(order, (std::vector<std::int64_t>{1, 3, 0, 2, 4}));
}

TEST_F(NodeParticipants, PacketsLieWhereTheClientPutThem) {
  start_server();
  hand_over(1, 7);
  const auto arrivals = take_all();
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrivals[0].bytes.data()) % 64, 0U);
  slot(1, 7)[100] = std::byte{42};
  EXPECT_EQ(arrivals[0].bytes[100], std::byte{42});
  receiver_->release(arrivals[0]);
  std::vector<const std::byte*> released;
  senders_[1]->take_released(released);
  EXPECT_EQ(released, (std::vector<const std::byte*>{slot(1, 7)}));
}

TEST_F(NodeParticipants, TablesAreFinite) {
  start_server();
  for (std::size_t i = 0; i < Table::num_entries; ++i) {
    ASSERT_TRUE(senders_[0]->can_hand_over(0));
    hand_over(0, static_cast<std::int64_t>(i));
  }
  EXPECT_FALSE(senders_[0]->can_hand_over(0));
  EXPECT_THROW(hand_over(0, 0), Error);
  for (const Arrival& arrival : take_all()) receiver_->release(arrival);
  EXPECT_EQ(num_released(0), Table::num_entries);
  EXPECT_TRUE(senders_[0]->can_hand_over(0));
}

TEST_F(NodeParticipants, RestartedServerFindsWhatWasNotReleased) {
  start_server();
  for (int number = 0; number < 3; ++number) {
    hand_over(0, number);
    hand_over(1, number);
  }
  for (const Arrival& arrival : take_all()) {
    if (header_of(arrival).number == 0) receiver_->release(arrival);
  }
  start_server();
  EXPECT_EQ(names(take_all()),
            (std::set<std::pair<int, std::int64_t>>{{0, 1}, {0, 2}, {1, 1}, {1, 2}}));
  EXPECT_EQ(num_released(0), 1U);
}

TEST_F(NodeParticipants, EndedStepsDoNotComeAgain) {
  start_server();
  for (int number = 0; number < 4; ++number) {
    hand_over(0, number);
    hand_over(1, number);
  }
  auto arrivals = take_all();
  receiver_->mark_ended(0, 0);
  receiver_->mark_ended(0, 2);
  receiver_->release(arrivals[0]);  // of step 0; the others are left behind
  start_server();
  EXPECT_EQ(names(take_all()),
            (std::set<std::pair<int, std::int64_t>>{{0, 1}, {0, 3}, {1, 1}, {1, 3}}));
  EXPECT_EQ(num_released(0), 2U);
  EXPECT_EQ(num_released(1), 2U);
}

TEST_F(NodeParticipants, ServerThatDiedWhileMarkingIsFollowedByOneThatEnds) {
  start_server();
  hand_over(0, 0);
  hand_over(1, 0);
  take_all();
  server().ended_stream = 0;  // the step is named, and no entry is set yet
  server().ended_number = 0;
  server().ended_valid = 1;
  start_server();
  EXPECT_TRUE(take_all().empty());
  EXPECT_EQ(num_released(0), 1U);
  EXPECT_EQ(num_released(1), 1U);
}

TEST_F(NodeParticipants, NoNoticeIsLostAndOrderIsKept) {
  constexpr std::int64_t num_notices = 3 * Table::num_notices;
  start_server();
  hand_over(0, 0);
  const auto arrivals = take_all();
  for (std::int64_t i = 0; i < num_notices; ++i) {
    Notice notice;
    notice.number = i;
    receiver_->notify(0, notice);
  }
  receiver_->mark_ended(0, 0);
  receiver_->release(arrivals[0]);
  EXPECT_EQ(num_released(0), 0U);  // not before its client could be told
  std::int64_t next = 0;
  for (Notice notice; next < num_notices; receiver_->progress()) {
    while (senders_[0]->take_notice(notice)) ASSERT_EQ(notice.number, next++);
  }
  EXPECT_EQ(num_released(0), 1U);
}

TEST_F(NodeParticipants, LeavingIsKnown) {
  start_server();
  EXPECT_THROW(senders_[0]->leave(0.01), Error);  // nobody looks
  receiver_->progress();
  senders_[0]->leave(10);
  EXPECT_FALSE(receiver_->all_left());
  EXPECT_THROW(senders_[1]->leave(0.01), Error);
  receiver_->progress();
  EXPECT_TRUE(receiver_->all_left());
}

// To which it has handed nothing, so that it has not seen their memory before.
TEST(NodeSender, ServersEndAsSoonAsTheyAreTold) {
  for (int round = 0; round < 200; ++round) {
    NodeSender sender(0, {0}, slot_bytes);
    std::atomic<bool> serves = false;
    std::thread server([&] {
      Memory block(sizeof(ServerBlock));
      reinterpret_cast<ServerBlock*>(block.data())->pid = getpid();
      const Endpoint clients[] = {sender.endpoint()};
      NodeReceiver receiver(0, clients, std::move(block));
      serves = true;
      while (!receiver.all_left()) receiver.progress();
    });
    while (!serves) std::this_thread::yield();
    EXPECT_NO_THROW(sender.leave(30));
    server.join();
  }
}

TEST(NodeSender, OneServerThatCannotBeToldKeepsNoOtherFromIt) {
  NodeSender sender(0, {0, 1}, slot_bytes);
  const Endpoint clients[] = {sender.endpoint()};
  Memory block(sizeof(ServerBlock));
  reinterpret_cast<ServerBlock*>(block.data())->pid = getpid();
  NodeReceiver second(1, clients, std::move(block));
  Endpoint nowhere;
  nowhere.pid = getpid();
  sender.set_server_block(0, nowhere);
  EXPECT_THROW(sender.leave(30), Error);
  second.progress();
  EXPECT_TRUE(second.all_left());
}

TEST_F(NodeParticipants, ServerThatIsGoneIsNamed) {
  start_server();
  receiver_.reset();
  try {
    hand_over(0, 0);
    FAIL() << "handed over to nobody";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_STREQ(error.what(), "output server 0 has ended");
  }
}

TEST_F(NodeParticipants, KilledServerIsNamed) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  server().pid = child;
  start_server();
  hand_over(0, 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int call = 0; call < 2; ++call) {
    try {
      if (call == 0) hand_over(0, 1);
      senders_[0]->progress();
      senders_[0]->wait(30);
      FAIL() << "nobody noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::io);
      EXPECT_NE(std::string(error.what()).find("was killed"), std::string::npos) << error.what();
    }
  }
}

TEST(NodeMemory, TooMuchIsRefused) {
  try {
    const Memory memory(std::ptrdiff_t{1} << 60);
    FAIL() << "an exbibyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_EQ(error.sys_errno(), ENOMEM);
  }
}

}  // namespace
}  // namespace tailrace::server::on_node
