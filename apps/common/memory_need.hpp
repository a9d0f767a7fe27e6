// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <mpi.h>

namespace tailrace::app {

/// What this machine, or the group of processes that this one is in, may use.
struct MemoryLimit {
  double bytes = 0;  ///< 0 = unknown
  std::string what;  ///< "of memory", "by the limit of its control group"
};

/// Reads /proc and /sys below `root`. Local.
MemoryLimit memory_limit(const std::string& root = "");

/// Throws `Errc::invalid_input` on all ranks, with both numbers, if the ranks of a node together
/// need more memory than it has: `bytes` each. The error begins with `what` ("case.toml: 64 x 64
/// points") and ends with `advice`. Collective, blocking.
void require_memory(MPI_Comm comm, double bytes, const std::string& what,
                    const std::string& advice);

}  // namespace tailrace::app
