// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "case.hpp"

namespace tailrace::turbulence {

/// Bytes that a rank's share of a run holds, about (docs/applications.md says what they are): the
/// flow, its statistics, and the output with its staging buffers. Local, whatever the grid's size.
double needed_bytes(const Case& values, const NavierStokesOptions& options, int num_ranks);

/// Throws `Errc::invalid_input` on all ranks, with both numbers, if the ranks of a node together
/// need more memory than it has. Collective, blocking.
void require_memory(MPI_Comm comm, const Case& values, const NavierStokesOptions& options);

}  // namespace tailrace::turbulence
