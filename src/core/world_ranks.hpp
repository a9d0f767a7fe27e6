// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// The ranks of `comm` as numbers of MPI_COMM_WORLD. Local.
std::vector<int> world_ranks_of(const Comm& comm);

}  // namespace tailrace
