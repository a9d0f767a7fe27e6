// SPDX-License-Identifier: BSD-3-Clause
// Looks at the machine and splits the ranks as `decide_roles` says.

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "chooser/environment.hpp"
#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "core/wait.hpp"
#include "server/policy/roles.hpp"
#include "server/team.hpp"
#include "tailrace/box.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/node_map.hpp"
#include "tailrace/session.hpp"

namespace tailrace::server {
namespace {

std::string from_environment(EnvironmentName name, const std::string& otherwise) {
  const char* value = environment(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

bool all_compute(const std::string& servers) {
  constexpr std::array kinds{"none", "hidden", "thread", "process", "auto"};
  return std::ranges::find(kinds, servers) != kinds.end();
}

/// Those of an output that has no session.
std::string servers_of_one(const OutputOptions& options) {
  const auto wanted = from_environment("TAILRACE_SERVERS", options.servers);
  const auto& servers = all_compute(wanted) ? wanted : options.servers;
  if (servers != "auto") return servers;
  return options.mode == OutputMode01::synchronous ? "none" : "hidden";
}

/// The options that decide, as rank 0 sees them.
OutputOptions agreed_options(const Comm& all, OutputOptions options, bool alone) {
  options.servers =
      alone ? servers_of_one(options) : from_environment("TAILRACE_SERVERS", options.servers);
  options.transport = from_environment("TAILRACE_TRANSPORT", options.transport);
  broadcast_values(all, options.servers, options.transport, options.placement, options.progress);
  return options;
}

void find_nodes(const Comm& all, JobResources& machine) {
  const NodeMap nodes(all);
  const auto cores = gather_from_all(all, count_cores(all.node()));
  machine.cores_of_node.resize(static_cast<std::size_t>(nodes.num_nodes()));
  for (int rank = 0; rank < all.num_ranks(); ++rank) {
    const int node = nodes.node_of(rank);
    machine.node_of_rank.push_back(node);
    machine.cores_of_node[static_cast<std::size_t>(node)] = cores[static_cast<std::size_t>(rank)];
  }
}

JobResources look(const Comm& all, const OutputOptions& options) {
  JobResources machine;
  find_nodes(all, machine);
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level));
  machine.threads_may_call_mpi = true_on_all(all, level == MPI_THREAD_MULTIPLE);
  if (all.rank() == 0) {
    const char* threads = std::getenv("OMP_NUM_THREADS");
    machine.threads_per_rank = std::max(1, threads != nullptr ? std::atoi(threads) : 1);
    if (options.servers == "auto") {
      const auto disk = measure_disk(options.folder);
      machine.disk_bytes_per_s = disk.bytes_per_s;
      machine.disk_busy = disk.busy;
      machine.memory_bytes_per_s = measure_copying();
    }
  }
  broadcast_values(all, machine.threads_per_rank, machine.disk_bytes_per_s, machine.disk_busy,
                   machine.memory_bytes_per_s);
  return machine;
}

Team split(Comm all, const Roles& roles, std::vector<int> node_of_rank) {
  const int rank = all.rank();
  const int num_ranks = all.num_ranks();
  const auto& servers = roles.server_ranks;
  const auto place = std::lower_bound(servers.begin(), servers.end(), rank);
  const bool has_server = place != servers.end() && *place == rank;
  const bool computes = roles.kind != Team::Kind::ranks || !has_server;
  Comm part = roles.kind == Team::Kind::ranks ? all.split(computes ? 0 : 1, rank) : all.duplicate();
  Team team{.kind = roles.kind,
            .all = std::move(all),
            .compute = {},
            .servers = {},
            .rank_of_client = {},
            .rank_of_server = servers,
            .node_of_rank = std::move(node_of_rank),
            .client = -1,
            .server = -1,
            .by_node = roles.by_node};
  for (int other = 0; other < num_ranks; ++other) {
    const bool serves = roles.kind == Team::Kind::ranks &&
                        std::binary_search(servers.begin(), servers.end(), other);
    if (!serves) team.rank_of_client.push_back(other);
  }
  if (has_server) team.server = static_cast<int>(place - servers.begin());
  if (computes) {
    team.client = part.rank();
    team.compute = std::move(part);
  } else {
    team.servers = std::move(part);
  }
  return team;
}

}  // namespace

Decision make_team(Comm all, const OutputOptions& options, bool alone) {
  const auto agreed = agreed_options(all, options, alone);
  if (alone && !all_compute(agreed.servers)) {
    refuse_input(
        "output: servers = \"{}\": must be \"none\", \"hidden\", \"thread\", \"process\" or "
        "\"auto\"; for ranks that only serve, use a Session",
        agreed.servers);
  }
  auto machine = look(all, agreed);
  auto roles = decide_roles(agreed, machine);  // the same on all ranks, errors included
  return {split(std::move(all), roles, std::move(machine.node_of_rank)), std::move(roles.reason),
          agreed.transport, machine.threads_may_call_mpi};
}

/// The clients of a node are dealt out evenly to its servers, in order.
std::vector<int> Team::clients_of_server(int server_number) const {
  const int node = node_of_server(server_number);
  std::vector<int> clients;
  for (int c = 0; c < num_clients(); ++c) {
    if (!by_node || node_of_client(c) == node) clients.push_back(c);
  }
  if (!by_node) return clients;
  int servers_here = 0, place = 0;
  for (int s = 0; s < num_servers(); ++s) {
    if (node_of_server(s) != node) continue;
    if (s < server_number) ++place;
    ++servers_here;
  }
  const auto own = split_evenly(std::ssize(clients), servers_here, place);
  return {clients.begin() + own.start, clients.begin() + own.end()};
}

int Team::server_of_client(int client_number) const {
  const int node = node_of_client(client_number);
  for (int s = 0; s < num_servers(); ++s) {
    if (node_of_server(s) != node) continue;
    if (std::ranges::binary_search(clients_of_server(s), client_number)) return s;
  }
  assert(false);
  return -1;
}

}  // namespace tailrace::server
