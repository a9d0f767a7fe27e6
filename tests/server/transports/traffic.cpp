// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/traffic.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server::test {

namespace {

constexpr double limit_s = 100;  // of every wait

struct Stamp {
  std::int64_t number = 0, bytes = 0;
  std::int32_t client = 0, server = 0;
  std::uint64_t sum = 0;
};
static_assert(sizeof(Stamp) <= smallest_packet);

// Cheap, and no two bytes may change places.
std::uint64_t sum_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const auto count = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), count);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 29;
    bytes = bytes.subspan(count);
  }
  return sum;
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Longer than the others take for a packet.
void nap_if_late(const Team& team, const Traffic& traffic, int point) {
  if (team.all.rank() == traffic.late_rank && point == traffic.late_at) sleep_for(1e-3);
}

std::ptrdiff_t random_size(std::mt19937_64& random, std::ptrdiff_t largest) {
  // As many small ones as big ones, of each power of two alike.
  const double share = std::uniform_real_distribution<double>(0, 1)(random);
  const double ratio = static_cast<double>(largest) / smallest_packet;
  return std::min(largest, static_cast<std::ptrdiff_t>(smallest_packet * std::pow(ratio, share)));
}

}  // namespace

Team make_team(MPI_Comm comm, int num_servers) {
  Team team{.kind = Team::Kind::ranks,
            .all = Comm(comm),
            .compute = {},
            .servers = {},
            .rank_of_client = {},
            .rank_of_server = {},
            .node_of_rank = {}};
  const int num_ranks = team.all.num_ranks();
  const int num_clients = num_ranks - num_servers;
  for (int rank = 0; rank < num_ranks; ++rank) {
    (rank < num_clients ? team.rank_of_client : team.rank_of_server).push_back(rank);
    team.node_of_rank.push_back(0);
  }
  const int rank = team.all.rank();
  (rank < num_clients ? team.client : team.server) = rank < num_clients ? rank : rank - num_clients;
  return team;
}

int usual_servers(int num_ranks) {
  if (num_ranks < 4) return 1;
  return num_ranks == 4 ? 2 : std::max(1, num_ranks / 8);
}

std::string missing_of(const std::set<std::string>& ran) {
  // One-sided progress and OpenSHMEM are not everywhere.
  std::string missing;
  for (const char* name : {"push_ordered", "push_any", "credit", "node"}) {
    if (!ran.contains(name)) missing += std::string(missing.empty() ? "" : ", ") + name;
  }
  return missing;
}

Side::Side(const Transport& transport, const Team& team, const TransportSettings& settings) {
  if (team.client >= 0) sender = transport.make_sender(team, settings);
  if (team.server >= 0) receiver = transport.make_receiver(team, settings);
}

TransportSettings settings_of(const Traffic& traffic) {
  return {.client_bytes = traffic.client_bytes,
          .server_bytes = traffic.server_bytes,
          .senders_at_once = 2,
          .chunk_bytes = 100'000,
          .helper_thread = traffic.helper_thread,
          .watchdog_s = limit_s};
}

void fill(std::span<std::byte> packet, int client, int server, std::int64_t number) {
  std::uint64_t word = static_cast<std::uint64_t>(number * 1000 + client * 10 + server);
  for (std::size_t at = sizeof(Stamp); at < packet.size(); at += sizeof word) {
    word = word * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(packet.data() + at, &word, std::min(sizeof word, packet.size() - at));
  }
  const Stamp stamp{number, std::ssize(packet), client, server,
                    sum_of(packet.subspan(sizeof(Stamp)))};
  std::memcpy(packet.data(), &stamp, sizeof stamp);
}

std::string check(std::span<const std::byte> packet, int client, int server) {
  Stamp stamp;
  std::memcpy(&stamp, packet.data(), sizeof stamp);
  if (stamp.bytes != std::ssize(packet) || stamp.client != client || stamp.server != server) {
    return fmt::format("{} bytes of client {} for server {}, not {} of {} for {}", stamp.bytes,
                       stamp.client, stamp.server, packet.size(), client, server);
  }
  if (stamp.sum == sum_of(packet.subspan(sizeof stamp))) return {};
  return fmt::format("wrong bytes in packet {} of client {}", stamp.number, client);
}

std::int64_t number_of(std::span<const std::byte> packet) {
  Stamp stamp;
  std::memcpy(&stamp, packet.data(), sizeof stamp);
  return stamp.number;
}

void Client::collect() {
  sender_.take_released(released_);
  for (const auto* first : released_) arena_.free(first);
  released_.clear();
  for (Notice notice; sender_.take_notice(notice);) notices.push_back(notice);
}

std::span<std::byte> Client::stage(std::ptrdiff_t bytes) {
  const double until_s = now_s() + limit_s;
  while (now_s() < until_s) {
    collect();
    if (const auto place = arena_.allocate(bytes)) {
      return place->first(static_cast<std::size_t>(bytes));
    }
    sender_.wait(0.1);
  }
  throw Error(Errc::internal, "no memory was released in time");
}

void Client::hand_over(int server, std::span<const std::byte> packet, int priority) {
  const double until_s = now_s() + limit_s;
  while (!sender_.can_hand_over(server)) {
    if (now_s() > until_s) throw Error(Errc::internal, "the table of packets stays full");
    sender_.wait(0.1);
    collect();
  }
  sender_.hand_over(server, packet, priority);
}

namespace {

void run_client(Sender& sender, const Team& team, const Traffic& traffic) {
  std::mt19937_64 random(static_cast<std::uint64_t>(team.client) + 1);
  Client client(sender);
  std::vector<std::int64_t> sent(static_cast<std::size_t>(team.num_servers()));
  for (int i = 0; i < traffic.packets; ++i) {
    const int server = static_cast<int>(random() % sent.size());
    nap_if_late(team, traffic, 0);
    const auto packet = client.stage(random_size(random, traffic.largest));
    nap_if_late(team, traffic, 1);
    fill(packet, team.client, server, sent[static_cast<std::size_t>(server)]++);
    nap_if_late(team, traffic, 2);
    client.hand_over(server, packet, static_cast<int>(random() % 3));
    if (random() % 4 == 0)
      sleep_for(traffic.longest_pause_s * static_cast<double>(random() % 100) / 100);
    nap_if_late(team, traffic, 3);
    if (traffic.calls) sender.progress();
  }
  // The first server tells of each of its packets.
  const double until_s = now_s() + limit_s;
  while ((std::ssize(client.notices) < sent[0] || client.staged() > 0) && now_s() < until_s) {
    sender.wait(0.1);
    client.collect();
  }
  EXPECT_EQ(client.staged(), 0);
  ASSERT_EQ(std::ssize(client.notices), sent[0]);
  for (std::int64_t i = 0; i < sent[0]; ++i) {
    EXPECT_EQ(client.notices[static_cast<std::size_t>(i)].number, i);
  }
  // All servers learn how much must have come.
  for (int server = 0; server < team.num_servers(); ++server) {
    MPI_Send(&sent[static_cast<std::size_t>(server)], 1, MPI_INT64_T,
             team.rank_of_server[static_cast<std::size_t>(server)], 0, team.all.raw());
  }
  sender.leave(limit_s);
}

class FakeServer {
 public:
  FakeServer(Receiver& receiver, const Team& team, const Traffic& traffic)
      : receiver_(receiver),
        team_(team),
        traffic_(traffic),
        random_(static_cast<std::uint64_t>(100 + team.server)),
        told_(static_cast<std::size_t>(team.num_clients())),
        seen_(told_.size()) {}

  void run() {
    const double until_s = now_s() + limit_s;
    while ((!receiver_.all_left() || !held_.empty()) && now_s() < until_s) {
      bool any = false;
      nap_if_late(team_, traffic_, 0);
      for (Arrival arrival; receiver_.take(arrival); any = true) held_.push_back(arrival);
      nap_if_late(team_, traffic_, 1);
      if (!held_.empty() && (!any || held_.size() > 5 || random_() % 2 == 0)) release_one();
      if (random_() % 16 == 0) sleep_for(traffic_.longest_pause_s);
      nap_if_late(team_, traffic_, 2);
      if (held_.empty()) receiver_.wait(0.1);
      nap_if_late(team_, traffic_, 3);
      receiver_.progress();
    }
    EXPECT_TRUE(receiver_.all_left());
    EXPECT_TRUE(held_.empty());
    for (int client = 0; client < team_.num_clients(); ++client) {
      std::int64_t sent = -1;
      MPI_Recv(&sent, 1, MPI_INT64_T, team_.rank_of_client[static_cast<std::size_t>(client)], 0,
               team_.all.raw(), MPI_STATUS_IGNORE);
      auto& seen = seen_[static_cast<std::size_t>(client)];
      EXPECT_EQ(std::ssize(seen), sent);
      std::sort(seen.begin(), seen.end());
      for (std::size_t i = 0; i < seen.size(); ++i)
        EXPECT_EQ(seen[i], static_cast<std::int64_t>(i));
    }
  }

 private:
  void release_one() {
    const auto at = held_.begin() + static_cast<std::ptrdiff_t>(random_() % held_.size());
    const Arrival arrival = *at;
    held_.erase(at);
    const auto client = static_cast<std::size_t>(arrival.client);
    EXPECT_EQ(check(arrival.bytes, arrival.client, team_.server), "");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrival.bytes.data()) % 64, 0u);
    seen_[client].push_back(number_of(arrival.bytes));
    receiver_.release(arrival);
    if (team_.server != 0) return;
    Notice notice{.kind = Notice::Kind::committed, .number = told_[client]++};
    receiver_.notify(arrival.client, notice);
  }

  Receiver& receiver_;
  const Team& team_;
  const Traffic& traffic_;
  std::mt19937_64 random_;
  std::vector<Arrival> held_;
  std::vector<std::int64_t> told_;               // notices, by client
  std::vector<std::vector<std::int64_t>> seen_;  // numbers of packets, by client
};

}  // namespace

void run_traffic(Side& side, const Team& team, const Traffic& traffic) {
  if (side.sender) run_client(*side.sender, team, traffic);
  if (side.receiver) FakeServer(*side.receiver, team, traffic).run();
}

}  // namespace tailrace::server::test
