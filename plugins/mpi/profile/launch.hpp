// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tailrace::plugins {

// What the launcher, the system and the MPI library have really set for this rank, for
// `tailrace advise`: written as rank-NNNNNN.launch into TAILRACE_PROFILE_DIR if
// TAILRACE_PROFILE has the word launch. Collective over MPI_COMM_WORLD, as it asks MPI which ranks
// share memory.
void write_launch_facts();

}  // namespace tailrace::plugins
