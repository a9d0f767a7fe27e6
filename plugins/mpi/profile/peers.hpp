// SPDX-License-Identifier: BSD-3-Clause
// The other ranks of the node. Launchers kill all ranks when one of them ends by MPI_Abort or a
// signal, MPICH's at once and by SIGKILL, which leaves them no time to write their records. So that
// rank asks them for these first.
#pragma once
#include <mpi.h>

namespace tailrace::plugins {

// Collective over `node`, the ranks of a node.
void know_peers(MPI_Comm node);
// Has the other ranks of the node write their records, and waits for them a second at most. Local.
void ask_for_records();

}  // namespace tailrace::plugins
