// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace::server {

/// Who computes and who serves. Clients are the compute ranks, numbered as in the compute
/// communicator; servers are numbered from 0, the first leads. With servers as threads or processes
/// every rank is a client.
struct Team {
  enum class Kind { none, hidden, thread, process, ranks };  ///< the first two: no servers
  Kind kind = Kind::none;
  Comm all;                         ///< all ranks of the session
  std::optional<Comm> compute;      ///< where this rank computes
  std::optional<Comm> servers;      ///< where this rank is a server (ranks only)
  std::vector<int> rank_of_client;  ///< in `all`
  std::vector<int> rank_of_server;  ///< in `all`; of threads: the rank that has the thread
  std::vector<int> node_of_rank;    ///< of all ranks: number of its node, from 0 by lowest rank
  int client = -1;                  ///< this rank's number, or -1
  int server = -1;

  int num_clients() const { return static_cast<int>(rank_of_client.size()); }
  int num_servers() const { return static_cast<int>(rank_of_server.size()); }
  int node_of_client(int number) const {
    return node_of(rank_of_client[static_cast<std::size_t>(number)]);
  }
  int node_of_server(int number) const {
    return node_of(rank_of_server[static_cast<std::size_t>(number)]);
  }
  int node_of(int rank) const { return node_of_rank[static_cast<std::size_t>(rank)]; }
  /// True if each server serves only the clients of its node, each client by one server.
  bool by_node = false;
  int server_of_client(int client_number) const;  ///< only if `by_node`
  /// The clients that a server serves, ascending: those of its node that are its own, or all.
  std::vector<int> clients_of_server(int server_number) const;
};

}  // namespace tailrace::server
