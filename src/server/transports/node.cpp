// SPDX-License-Identifier: BSD-3-Clause
// Shared memory of a node. A client's packets lie in memory that its server has mapped, too;
// handing one over is a flag in a table and a bell (a futex), and the server works on the bytes in
// place. Nothing is copied and nothing sent; neither side makes an MPI call after the start, so a
// server may be a thread or a process. The memory has no name, hence nothing is left behind by any
// end of the job. Wins wherever server and clients share a node.
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/same_on_all.hpp"
#include "server/transport.hpp"
#include "server/transports/node_receiver.hpp"
#include "server/transports/node_sender.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

using on_node::Endpoint;
using on_node::Memory;
using on_node::NodeReceiver;
using on_node::NodeSender;
using on_node::ServerBlock;

constexpr int endpoint_tag = 1021;

std::vector<int> servers_of(const Team& team, int client) {
  if (team.by_node) return {team.server_of_client(client)};
  std::vector<int> servers;
  for (int server = 0; server < team.num_servers(); ++server) servers.push_back(server);
  return servers;
}

// "" if every client shares a node with each of its servers.
std::string apart(const Team& team) {
  for (int client = 0; client < team.num_clients(); ++client) {
    for (const int server : servers_of(team, client)) {
      if (team.node_of_client(client) == team.node_of_server(server)) continue;
      return fmt::format("compute rank {} and server {} are on different nodes", client, server);
    }
  }
  return {};
}

// The next rank of this rank's node, cyclically.
int neighbour(const Team& team) {
  const int rank = team.all.rank();
  const int num_ranks = team.all.num_ranks();
  for (int step = 1; step <= num_ranks; ++step) {
    const int other = (rank + step) % num_ranks;
    if (team.node_of(other) == team.node_of(rank)) return other;
  }
  return rank;
}

// Tries what the transport rests on: each rank looks at a neighbour's memory.
void probe(const Team& team) {
  Memory own;
  const int rank = team.all.rank();
  run_agreed(team.all.raw(), [&] {
    own = Memory(sizeof rank);
    std::memcpy(own.data(), &rank, sizeof rank);
  });
  const auto all = gather_from_all(team.all, own.endpoint());
  run_agreed(team.all.raw(), [&] {
    const int other = neighbour(team);
    const Memory memory(all[static_cast<std::size_t>(other)]);
    int found = -1;
    std::memcpy(&found, memory.data(), sizeof found);
    if (found == other) return;
    throw Error(Errc::io, fmt::format("the shared memory of rank {} is that of another rank ({})",
                                      other, found));
  });
}

std::string refuses(const Team& team) {
  if (team.num_servers() == 0) return "there is no server";
  if (auto reason = apart(team); !reason.empty()) return reason;
  try {
    probe(team);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// What a client tells its servers, on its way. A thread of this very rank may take it later.
class Announcement {
 public:
  Announcement(const Team& team, const Endpoint& endpoint)
      : endpoint_(std::make_unique<Endpoint>(endpoint)) {
    for (const int server : servers_of(team, team.client)) {
      const int rank = team.rank_of_server[static_cast<std::size_t>(server)];
      check_mpi(MPI_Isend(endpoint_.get(), sizeof(Endpoint), MPI_BYTE, rank, endpoint_tag,
                          team.all.raw(), &requests_.emplace_back(MPI_REQUEST_NULL)));
    }
  }
  ~Announcement() {
    if (detail::mpi_is_finalized()) return;
    int sent = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &sent, MPI_STATUSES_IGNORE);
    if (sent != 0) return;
    // Its server was never made.
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    static_cast<void>(endpoint_.release());  // MPI may still read it
  }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

 private:
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<MPI_Request> requests_;
};

std::unique_ptr<Sender> make_sender(const Team& team, const TransportSettings& settings) {
  if (team.kind == Team::Kind::process) {
    throw Error(Errc::internal, "the senders of process servers are made by ServerProcess");
  }
  std::unique_ptr<NodeSender> sender;
  run_agreed(team.all.raw(), [&] {
    sender = std::make_unique<NodeSender>(team.client, servers_of(team, team.client),
                                          settings.client_bytes);
  });
  sender->keep(std::make_shared<Announcement>(team, sender->endpoint()));
  if (team.kind == Team::Kind::ranks) agree(team.all.raw(), nullptr);
  return sender;
}

std::vector<Endpoint> receive_endpoints(const Team& team) {
  std::vector<Endpoint> endpoints;
  for (int client = 0; client < team.num_clients(); ++client) {
    if (team.by_node && team.server_of_client(client) != team.server) continue;
    Endpoint& endpoint = endpoints.emplace_back();
    const int rank = team.rank_of_client[static_cast<std::size_t>(client)];
    check_mpi(MPI_Recv(&endpoint, sizeof endpoint, MPI_BYTE, rank, endpoint_tag, team.all.raw(),
                       MPI_STATUS_IGNORE));
  }
  return endpoints;
}

Memory make_server_block() {
  Memory memory(sizeof(ServerBlock));
  reinterpret_cast<ServerBlock*>(memory.data())->pid.store(getpid(), std::memory_order_relaxed);
  return memory;
}

// A rank takes part in the agreements of `make_sender`. A rank that has its server as a thread has
// taken part already: it throws alone.
std::unique_ptr<Receiver> make_receiver(const Team& team, const TransportSettings&) {
  const bool alone = team.kind != Team::Kind::ranks;
  if (!alone) agree(team.all.raw(), nullptr);
  const std::vector<Endpoint> endpoints = receive_endpoints(team);
  std::unique_ptr<NodeReceiver> receiver;
  const auto make = [&] {
    receiver = std::make_unique<NodeReceiver>(team.server, endpoints, make_server_block());
  };
  if (alone) {
    make();
  } else {
    run_agreed(team.all.raw(), make);
  }
  return receiver;
}

}  // namespace

Transport node() {
  return {.name = "node",
          .summary = "shared memory of a node: the server reads the packets in place",
          .refuses = refuses,
          .make_sender = make_sender,
          .make_receiver = make_receiver};
}

}  // namespace tailrace::server
