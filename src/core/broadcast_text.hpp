// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <mpi.h>

namespace tailrace {

/// The text that `root` has, on all ranks; of any length. Collective over `comm`, blocking.
std::string broadcast_text(MPI_Comm comm, std::string text, int root = 0);

}  // namespace tailrace
