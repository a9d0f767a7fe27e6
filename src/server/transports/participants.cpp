// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/participants.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

namespace {

constexpr double shortest_nap_s = 50e-6;  // what the kernel rounds shorter ones up to
constexpr double share_of_idle_time = 0.02;

std::vector<int> numbers_of_ranks(const std::vector<int>& ranks, int num_ranks) {
  std::vector<int> numbers(static_cast<std::size_t>(num_ranks), -1);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    numbers[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
  }
  return numbers;
}

std::string wrong_settings(const Team& team, const TransportSettings& settings) {
  if (settings.chunk_bytes < 1) return "chunk_bytes must be at least 1";
  if (settings.senders_at_once < 1) return "senders_at_once must be at least 1";
  if (!(settings.watchdog_s > 0)) return "watchdog_s must be above 0";
  if (team.client >= 0 && settings.client_bytes < 1) return "client_bytes must be at least 1";
  if (team.server >= 0 && settings.server_bytes < 1) return "server_bytes must be at least 1";
  return {};
}

}  // namespace

Participants::Participants(const char* name, const Team& team, const TransportSettings& given)
    : transport(name),
      comm(team.all.raw()),
      settings(given),
      client(team.client),
      server(team.server),
      rank_of_client(team.rank_of_client),
      rank_of_server(team.rank_of_server),
      client_of_rank(numbers_of_ranks(team.rank_of_client, team.all.num_ranks())),
      server_of_rank(numbers_of_ranks(team.rank_of_server, team.all.num_ranks())) {
  const auto wrong = wrong_settings(team, given);
  require_all(comm.raw(), wrong.empty(), fmt::format("transport {}: {}", name, wrong));
  // A chunk is one message: all ranks cut alike, and its size must fit into an int.
  constexpr std::ptrdiff_t largest_chunk = std::ptrdiff_t{1} << 30;
  const std::array<std::ptrdiff_t, 2> mine{std::min(given.chunk_bytes, largest_chunk),
                                           team.client >= 0 ? given.client_bytes : 0};
  const auto of_rank = gather_from_all(comm, mine);
  settings.chunk_bytes = of_rank[0][0];
  for (const auto& one : of_rank) {
    settings.chunk_bytes = std::min(settings.chunk_bytes, one[0]);
    largest_client_bytes = std::max(largest_client_bytes, one[1]);
  }
}

void Participants::check_packet(std::span<const std::byte> memory, int server_number,
                                std::span<const std::byte> packet) const {
  if (server_number < 0 || server_number >= num_servers()) {
    refuse_input("transport {}: there is no server {}; there are {}", transport, server_number,
                 num_servers());
  }
  const std::less_equal<> before;
  if (packet.empty() || !before(memory.data(), packet.data()) ||
      !before(packet.data() + packet.size(), memory.data() + memory.size())) {
    refuse_input(
        "transport {}: a packet of {} bytes does not lie in the memory of the sender, or is empty",
        transport, packet.size());
  }
}

void CopySender::refuse_more(int server, std::size_t most) const {
  throw Error(Errc::internal, fmt::format("transport {}: more than {} packets wait for server {}",
                                          participants_.transport, most, server));
}

void CopySender::fail_to_leave(const char* what, double limit_s) const {
  throw Error(Errc::io,
              fmt::format("transport {}: {} within {} s", participants_.transport, what, limit_s));
}

void CopyReceiver::make_receive_queue(ReceiveQueue::Order order) {
  run_agreed(participants_.comm.raw(), [&] {
    queue_ = std::make_unique<ReceiveQueue>(participants_.num_clients(),
                                            participants_.settings.server_bytes, order);
  });
}

std::string refuses_but_ranks(const Team& team) {
  if (team.num_servers() == 0) return "there is no server";
  if (team.kind == Team::Kind::ranks) return {};
  return "it needs servers that are separate ranks, and these are not";
}

void Participants::give_up(std::size_t server_number, std::ptrdiff_t num_packets) const {
  throw Error(Errc::io,
              fmt::format("transport {}: no message from server {} (rank {}) for {} s; {} "
                          "packets that were handed over to it have not arrived",
                          transport, server_number, rank_of_server[server_number],
                          settings.watchdog_s, num_packets));
}

bool Backoff::nap(double until_s) {
  const double now = now_s();
  const double wanted = share_of_idle_time * (now - stirred_s_);
  return sleep(
      std::min(std::clamp(wanted, shortest_nap_s, longest_nap_s_), std::max(0.0, until_s - now)));
}

bool Backoff::sleep(double sleep_s) {
  std::unique_lock lock(mutex_);
  bell_.wait_for(lock, std::chrono::duration<double>(sleep_s), [this] { return woken_; });
  return std::exchange(woken_, false);
}

void Backoff::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  bell_.notify_one();
}

bool SilenceTimer::lasts(double now_s, double limit_s) {
  // One look after a long pause says little: what the peer sent may not have been read yet.
  constexpr int looks = 8;
  if (listened_s_ >= 0) silent_s_ += std::min(now_s - listened_s_, limit_s / looks);
  listened_s_ = now_s;
  return silent_s_ > limit_s;
}

void SilenceTimer::rest() {
  silent_s_ = 0;
  listened_s_ = -1;
}

}  // namespace tailrace::server
