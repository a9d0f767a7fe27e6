// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "case.hpp"

namespace tailrace::turbulence {

/// Bytes that a rank's share of a run holds, about (docs/applications.md says what they are): the
/// flow, its statistics, and the output with its staging buffers. Local, whatever the grid's size.
double needed_bytes(const Case& values, const NavierStokesOptions& options, int num_ranks);

/// What this machine, or the group of processes that this one is in, may use.
struct MemoryLimit {
  double bytes = 0;  ///< 0 = unknown
  std::string what;  ///< "of memory", "by the limit of its control group"
};

/// Reads /proc and /sys below `root`. Local.
MemoryLimit memory_limit(const std::string& root = "");

/// Throws `Errc::invalid_input` on all ranks, with both numbers, if the ranks of a node together
/// need more memory than it has. Collective, blocking.
void require_memory(MPI_Comm comm, const Case& values, const NavierStokesOptions& options);

}  // namespace tailrace::turbulence
