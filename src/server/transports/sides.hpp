// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "server/team.hpp"
#include "server/transport.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

/// What client and server ranks must know of each other: a communicator of this transport alone, so
/// that its messages meet no others, and what sizes they agree on.
struct Sides {
  /// Throws `Errc::invalid_input` on all ranks for settings out of range. Collective over
  /// `team.all`, blocking.
  Sides(const char* name, const Team& team, const TransportSettings& given);

  const char* transport;
  Comm comm;
  TransportSettings settings;
  int client, server;  ///< this rank's number, or -1
  std::vector<int> rank_of_client, rank_of_server;
  std::vector<int> client_of_rank, server_of_rank;  ///< or -1
  std::ptrdiff_t largest_client_bytes = 0;

  int client_rank(int number) const { return rank_of_client[static_cast<std::size_t>(number)]; }
  int server_rank(int number) const { return rank_of_server[static_cast<std::size_t>(number)]; }
  int num_clients() const { return static_cast<int>(rank_of_client.size()); }
  int num_servers() const { return static_cast<int>(rank_of_server.size()); }

  /// Throws `Errc::invalid_input` unless `packet` lies in `memory` and there is `server`. Local.
  void check_packet(std::span<const std::byte> memory, int server_number,
                    std::span<const std::byte> packet) const;
  /// Throws `Errc::io`: server `server_number` has been silent for too long. Local.
  [[noreturn]] void give_up(std::size_t server_number, std::ptrdiff_t num_packets) const;
};

/// Gives up if a server of which a client awaits something (`busy` of its line) has been silent for
/// too long. Looks now and then; `watched_s` is when it last did. Local.
template <class Line>
void watch_servers(const Sides& sides, std::vector<Line>& lines, double& watched_s) {
  const double now = now_s(), limit = sides.settings.watchdog_s;
  if (now - watched_s < std::min(0.25, limit / 32)) return;
  watched_s = now;
  for (std::size_t server = 0; server < lines.size(); ++server) {
    Line& line = lines[server];
    const bool silent = line.busy > 0 && line.silence.lasts(now, limit);
    if (line.busy == 0 || silent) line.silence.rest();
    if (silent) sides.give_up(server, static_cast<std::ptrdiff_t>(line.busy));
  }
}

/// "" if the servers are ranks of their own, which alone may make MPI calls. Local.
std::string refuses_but_ranks(const Team& team);

}  // namespace tailrace::server
