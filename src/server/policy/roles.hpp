// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "server/team.hpp"
#include "tailrace/session.hpp"

namespace tailrace::server {

/// What there is to decide from. Plain data, so that the decision can be tested for any machine.
struct JobResources {
  std::vector<int> node_of_rank;      ///< number of each rank's node, from 0, none left out
  std::vector<int> cores_of_node;     ///< that its ranks may use
  int threads_per_rank = 1;           ///< with which a rank computes (OMP_NUM_THREADS)
  double disk_bytes_per_s = 0;        ///< one writer into `OutputOptions::folder`, safe on disk;
                                      ///< 0: not known
  double disk_busy = 0;               ///< share of that time which was processor time of the writer
  double memory_bytes_per_s = 0;      ///< one core's memcpy
  bool threads_may_call_mpi = false;  ///< MPI_THREAD_MULTIPLE, on every rank
};

/// Who serves, and why (one sentence with the figures that decided).
struct Roles {
  Team::Kind kind = Team::Kind::none;
  std::vector<int> server_ranks;  ///< ascending; of `ranks`: they serve; of threads and processes:
                                  ///< the ranks that have them, the first one of each node
  bool by_node = false;
  std::string reason;
};

/// Reads "none", "hidden", "thread", "process", "N", "N per node" or "auto" and decides:
/// - N ranks are spread over all ranks in the order of their nodes, the last of each of N equal
///   groups, so each node gives its share and rank 0 computes; "own_nodes" takes the last nodes;
/// - "auto" is "none" where hiding cannot pay: a disk half as fast as memory, or, where no core is
///   idle, one whose writing is mostly processor time. Else "thread" where every node has an idle
///   core or too few ranks to spare one, else "1 per node".
/// Looks at `servers`, `placement`, `transport` and `progress` of `options`, not at the
/// environment. Throws `Errc::invalid_input` saying what would be right (also: more servers than
/// ranks - 1). Local.
Roles decide_roles(const OutputOptions& options, const JobResources& machine);

/// Measures what `options` needs ("auto": disk and memory, at most about half a second) and makes
/// the team. `TAILRACE_SERVERS` overrides `options.servers`, and `TAILRACE_TRANSPORT`
/// `options.transport`; those of rank 0 hold for all. `alone`: of one output, which has no session;
/// none of its ranks may serve, and "auto" is "hidden" there. Collective over `all`, blocking.
/// Throws on all ranks.
struct Decision {
  Team team;
  std::string reason;
  std::string transport;      ///< as options and environment ask for it
  bool threads_may_call_mpi;  ///< see `JobResources`
};
Decision make_team(Comm all, const OutputOptions& options, bool alone = false);

/// What one writer gets out of a folder's file system.
struct DiskSpeed {
  double bytes_per_s = 0;  ///< 0: could not be measured
  double busy = 0;         ///< share of the time that was processor time of the writer
};

/// Writes a nameless file in `folder` (or, as long as that does not exist, the nearest folder above
/// it) and flushes it again and again, as output does: around the page cache where that works.
/// Stops after about 0.25 s or 128 MiB. Nothing is left behind. Local.
DiskSpeed measure_disk(const std::string& folder);

/// Bytes that one core copies in a second [bytes/s], from and to memory that no cache holds. Takes
/// about 0.05 s. Local.
double measure_copying();

}  // namespace tailrace::server
