// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "server/team.hpp"

namespace tailrace::server {

/// What there is to decide from. Plain data, so that the decision can be tested for any machine.
struct Machine {
  std::vector<int> node_of_rank;      ///< number of each rank's node
  std::vector<int> cores_of_node;     ///< that its ranks may use
  double disk_bytes_per_s = 0;        ///< one writer into `SessionOptions::folder`, safe on disk
  double memory_bytes_per_s = 0;      ///< one core's memcpy
  bool threads_may_call_mpi = false;  ///< MPI_THREAD_MULTIPLE
};

/// Who serves, and why (one sentence with the figures that decided).
struct Roles {
  Team::Kind kind = Team::Kind::none;
  std::vector<int> server_ranks;  ///< ascending; of `ranks`: they serve; of threads: they have one
  bool by_node = false;
  std::string reason;
};

/// Reads "none", "thread", "process", "N", "N per node" or "auto". Throws `Errc::invalid_input`
/// saying what would be right (also: more servers than ranks - 1). Local.
Roles decide_roles(const SessionOptions& options, const Machine& machine);

/// Measures what `options` needs ("auto": disk and memory, at most about half a second) and makes
/// the team. Collective over `world`, blocking. Throws on all ranks.
struct Decision {
  Team team;
  std::string reason;
};
Decision make_team(MPI_Comm world, const SessionOptions& options);

}  // namespace tailrace::server
