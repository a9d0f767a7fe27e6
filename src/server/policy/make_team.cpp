// SPDX-License-Identifier: BSD-3-Clause
// Looks at the machine and splits the ranks as `decide_roles` says.
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "server/policy/roles.hpp"
#include "server/policy/speed.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

namespace {

/// Rank 0's text, on all ranks. Collective.
std::string agreed_text(const Comm& comm, std::string text) {
  int length = static_cast<int>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, 0, comm.raw()));
  text.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm.raw()));
  return text;
}

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

/// The options that decide, as rank 0 sees them.
SessionOptions agreed_options(const Comm& all, SessionOptions options) {
  options.servers = agreed_text(all, from_environment("TAILRACE_SERVERS", options.servers));
  options.transport = agreed_text(all, from_environment("TAILRACE_TRANSPORT", options.transport));
  options.placement = agreed_text(all, options.placement);
  options.progress = agreed_text(all, options.progress);
  return options;
}

/// Cores that the ranks of this node together may use: bound ranks have few each.
int cores_of(const Comm& node) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) CPU_SET(0, &cores);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &cores, sizeof(cores), MPI_BYTE, MPI_BOR, node.raw()));
  return CPU_COUNT(&cores);
}

void find_nodes(const Comm& all, Machine& machine) {
  const Comm node = all.node();
  int first = all.rank();
  check_mpi(MPI_Bcast(&first, 1, MPI_INT, 0, node.raw()));
  std::array<int, 2> mine{first, cores_of(node)};
  const auto num_ranks = static_cast<std::size_t>(all.num_ranks());
  std::vector<std::array<int, 2>> found(num_ranks);
  check_mpi(MPI_Allgather(mine.data(), 2, MPI_INT, found.data(), 2, MPI_INT, all.raw()));
  std::vector<int> number(num_ranks, -1);  // of the node whose first rank it is
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    auto& node_number = number[static_cast<std::size_t>(found[rank][0])];
    if (node_number < 0) {
      node_number = static_cast<int>(machine.cores_of_node.size());
      machine.cores_of_node.push_back(found[rank][1]);
    }
    machine.node_of_rank.push_back(node_number);
  }
}

Machine look(const Comm& all, const SessionOptions& options) {
  Machine machine;
  find_nodes(all, machine);
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level));
  int many_threads = level == MPI_THREAD_MULTIPLE ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &many_threads, 1, MPI_INT, MPI_MIN, all.raw()));
  machine.threads_may_call_mpi = many_threads == 1;
  std::array<double, 4> found{};
  if (all.rank() == 0) {
    const char* threads = std::getenv("OMP_NUM_THREADS");
    found[0] = std::max(1, threads != nullptr ? std::atoi(threads) : 1);
    if (options.servers == "auto") {
      const auto disk = measure_disk(options.folder);
      found[1] = disk.bytes_per_s;
      found[2] = disk.busy;
      found[3] = measure_copying();
    }
  }
  check_mpi(MPI_Bcast(found.data(), static_cast<int>(found.size()), MPI_DOUBLE, 0, all.raw()));
  machine.threads_per_rank = static_cast<int>(found[0]);
  machine.disk_bytes_per_s = found[1];
  machine.disk_busy = found[2];
  machine.memory_bytes_per_s = found[3];
  return machine;
}

Team split(Comm all, const Roles& roles, std::vector<int> node_of_rank) {
  const int rank = all.rank();
  const int num_ranks = all.num_ranks();
  const auto& servers = roles.server_ranks;
  const auto place = std::lower_bound(servers.begin(), servers.end(), rank);
  const bool has_server = place != servers.end() && *place == rank;
  const bool computes = roles.kind != Team::Kind::ranks || !has_server;
  Comm part = all.split(computes ? 0 : 1, rank);
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

Decision make_team(MPI_Comm world, const SessionOptions& options) {
  Comm all(world);
  const auto agreed = agreed_options(all, options);
  auto machine = look(all, agreed);
  auto roles = decide_roles(agreed, machine);  // the same on all ranks, errors included
  return {split(std::move(all), roles, std::move(machine.node_of_rank)), std::move(roles.reason),
          agreed.transport, machine.threads_may_call_mpi};
}

}  // namespace tailrace::server
