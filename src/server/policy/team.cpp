// SPDX-License-Identifier: BSD-3-Clause
#include "server/team.hpp"

#include <algorithm>
#include <cassert>

#include "tailrace/box.hpp"

namespace tailrace::server {

/// The clients of a node are dealt out evenly to its servers, in order.
std::vector<int> Team::clients_of_server(int server_number) const {
  const auto node_of = [&](int rank) { return node_of_rank[static_cast<std::size_t>(rank)]; };
  const int node = node_of(rank_of_server[static_cast<std::size_t>(server_number)]);
  std::vector<int> clients;
  for (int c = 0; c < num_clients(); ++c) {
    if (!by_node || node_of(rank_of_client[static_cast<std::size_t>(c)]) == node) {
      clients.push_back(c);
    }
  }
  if (!by_node) return clients;
  int servers_here = 0, place = 0;
  for (int s = 0; s < num_servers(); ++s) {
    if (node_of(rank_of_server[static_cast<std::size_t>(s)]) != node) continue;
    if (s < server_number) ++place;
    ++servers_here;
  }
  const auto own = split_evenly(std::ssize(clients), servers_here, place);
  return {clients.begin() + own.start, clients.begin() + own.end()};
}

int Team::server_of_client(int client_number) const {
  const auto node_of = [&](int rank) { return node_of_rank[static_cast<std::size_t>(rank)]; };
  const int node = node_of(rank_of_client[static_cast<std::size_t>(client_number)]);
  for (int s = 0; s < num_servers(); ++s) {
    if (node_of(rank_of_server[static_cast<std::size_t>(s)]) != node) continue;
    if (std::ranges::binary_search(clients_of_server(s), client_number)) return s;
  }
  assert(false);
  return -1;
}

}  // namespace tailrace::server
