// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "server/team.hpp"

namespace tailrace::server {

/// What was found by trying.
struct OneSidedProbe {
  std::string trouble;  ///< "" if servers can read their clients' memory without their help
  double read_s = 0;    ///< for a small read of each of a few clients, the slowest server [s]
};

/// Tries whether one-sided data moves while its owner sleeps: some MPIs move none until the owner
/// calls MPI, some cannot make windows. Takes some 50 ms. Collective over `team.all`, blocking; the
/// same result on all ranks.
OneSidedProbe probe_one_sided(const Team& team);

/// The same for any way to read: every rank shows its own number in its memory, and `read(rank)`
/// fetches what `rank` shows, or throws. A server reads `targets`; others (none) sleep. Collective
/// over `comm`, blocking.
OneSidedProbe probe_reads(const Comm& comm, std::span<const int> targets,
                          const std::function<std::int64_t(int)>& read);

/// The ranks that `server` reads in a probe: a few of its clients; none if it is -1. Local.
std::vector<int> probe_targets(int server, const std::vector<int>& rank_of_client);

}  // namespace tailrace::server
