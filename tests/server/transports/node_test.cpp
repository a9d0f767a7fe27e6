// SPDX-License-Identifier: BSD-3-Clause
// Packets through shared memory, between ranks and to a thread: every byte, in order, with less
// memory than packets, whatever the order in which the server releases them.
#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/transport.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

constexpr int num_packets = 700;  // of each client: more than a table has entries
constexpr std::ptrdiff_t slot_bytes = 4096;
constexpr int num_slots = 12;
constexpr double limit_s = 60;

struct Content {
  std::int32_t client, number, priority, bytes;
};

std::byte byte_of(const Content& content, std::ptrdiff_t i) {
  return static_cast<std::byte>(content.client * 37 + content.number * 11 + i);
}

void fill(std::byte* packet, const Content& content) {
  std::memcpy(packet, &content, sizeof content);
  for (std::ptrdiff_t i = sizeof content; i < content.bytes; ++i) packet[i] = byte_of(content, i);
}

// The client's side: packets of many sizes, as memory allows; a notice must come for each.
class Client {
 public:
  Client(Sender& sender, int client, int num_servers)
      : sender_(sender),
        client_(client),
        num_servers_(num_servers),
        random_(static_cast<unsigned>(client)) {
    for (int i = 0; i < num_slots; ++i) free_.push_back(sender.memory().data() + i * slot_bytes);
  }

  void run() {
    for (int number = 0; number < num_packets; ++number) {
      const int server = number % num_servers_;
      while (free_.empty() || !sender_.can_hand_over(server)) get_on(true);
      std::uniform_int_distribution<std::int32_t> size(sizeof(Content), slot_bytes);
      const Content content{client_, number, number % 3, size(random_)};
      std::byte* packet = free_.back();
      free_.pop_back();
      fill(packet, content);
      sender_.hand_over(server, {packet, static_cast<std::size_t>(content.bytes)},
                        content.priority);
      get_on(false);
    }
    while (free_.size() < num_slots || num_notices_ < num_packets) get_on(true);
    sender_.leave(limit_s);
  }

 private:
  void get_on(bool wait) {
    if (wait) sender_.wait(limit_s);
    released_.clear();
    sender_.take_released(released_);
    for (const std::byte* packet : released_) free_.push_back(const_cast<std::byte*>(packet));
    Notice notice;
    while (sender_.take_notice(notice)) {
      ++num_notices_;
      auto& last = last_notice_[notice.code];
      EXPECT_EQ(notice.number, last++) << "notices of server " << notice.code;
    }
  }

  Sender& sender_;
  int client_, num_servers_;
  std::mt19937 random_;
  std::vector<std::byte*> free_;
  std::vector<const std::byte*> released_;
  int num_notices_ = 0;
  std::int64_t last_notice_[8] = {};
};

// The server's side: holds some packets for a while, and tells the client about each.
void serve(Receiver& receiver, int server, int num_clients) {
  std::mt19937 random(99);
  std::vector<Arrival> held;
  std::vector<std::int64_t> told(static_cast<std::size_t>(num_clients), 0);
  while (!receiver.all_left() || !held.empty()) {
    Arrival arrival;
    while (receiver.take(arrival)) held.push_back(arrival);
    std::ranges::shuffle(held, random);
    const std::size_t keep = held.size() > 20 ? 10 : held.size() / 4;
    while (held.size() > keep) {
      const Arrival done = held.back();
      held.pop_back();
      Content content;
      ASSERT_GE(done.bytes.size(), sizeof content);
      std::memcpy(&content, done.bytes.data(), sizeof content);
      ASSERT_EQ(content.client, done.client);
      ASSERT_EQ(content.bytes, static_cast<std::int32_t>(done.bytes.size()));
      for (std::ptrdiff_t i = sizeof content; i < content.bytes; ++i) {
        ASSERT_EQ(done.bytes[static_cast<std::size_t>(i)], byte_of(content, i));
      }
      Notice notice;
      notice.kind = Notice::Kind::committed;
      notice.code = server;
      notice.number = told[static_cast<std::size_t>(done.client)]++;
      receiver.notify(done.client, notice);
      receiver.release(done);
    }
    receiver.progress();
    receiver.wait(held.empty() ? limit_s : 0.0);
  }
}

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

TransportSettings settings() {
  TransportSettings settings;
  settings.client_bytes = num_slots * slot_bytes;
  return settings;
}

Team everyone(Team::Kind kind) {
  std::vector<int> nodes(static_cast<std::size_t>(world_size()), 0);
  Team team{kind, Comm(MPI_COMM_WORLD), {}, {}, {}, {}, std::move(nodes), -1, -1, false};
  return team;
}

// The last `num_servers` ranks serve.
Team team_of_ranks(int num_servers) {
  Team team = everyone(Team::Kind::ranks);
  const int num_clients = world_size() - num_servers;
  for (int rank = 0; rank < world_size(); ++rank) {
    (rank < num_clients ? team.rank_of_client : team.rank_of_server).push_back(rank);
  }
  if (world_rank() < num_clients) {
    team.client = world_rank();
  } else {
    team.server = world_rank() - num_clients;
  }
  return team;
}

void exchange_between_ranks(int num_servers) {
  const Team team = team_of_ranks(num_servers);
  ASSERT_EQ(node().refuses(team), "");
  if (team.client >= 0) {
    const auto sender = node().make_sender(team, settings());
    Client(*sender, team.client, num_servers).run();
  } else {
    const auto receiver = node().make_receiver(team, settings());
    serve(*receiver, team.server, team.num_clients());
  }
}

TEST(NodeTransport, BetweenRanks) {
  if (world_size() > 1) exchange_between_ranks(1);
}

TEST(NodeTransport, SeveralServers) {
  if (world_size() > 2) exchange_between_ranks(2);
}

TEST(NodeTransport, ToAThread) {
  Team team = everyone(Team::Kind::thread);
  for (int rank = 0; rank < world_size(); ++rank) {
    team.rank_of_client.push_back(rank);
  }
  team.rank_of_server = {0};
  team.client = world_rank();
  team.server = world_rank() == 0 ? 0 : -1;
  ASSERT_EQ(node().refuses(team), "");
  const auto sender = node().make_sender(team, settings());
  std::thread thread;
  if (team.server == 0) {
    thread = std::thread([receiver = node().make_receiver(team, settings()), &team] {
      serve(*receiver, 0, team.num_clients());
    });
  }
  Client(*sender, team.client, 1).run();
  if (thread.joinable()) thread.join();
}

TEST(NodeTransport, RefusesOtherNodes) {
  Team team = team_of_ranks(world_size() > 1 ? 1 : 0);
  if (world_size() == 1) {
    EXPECT_EQ(node().refuses(team), "there is no server");
    return;
  }
  team.node_of_rank.back() = 1;
  EXPECT_EQ(node().refuses(team), "compute rank 0 and server 0 are on different nodes");
}

}  // namespace
}  // namespace tailrace::server
