// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "move/blocks/runner.hpp"

namespace tailrace {

/// Of each peer, `mine[peer]` of that peer for this rank: as MPI_Alltoall. Collective, blocking.
std::vector<std::ptrdiff_t> swap_numbers(const Comm& comm, const std::vector<std::ptrdiff_t>& mine);
/// True if all blocks of all ranks are equally large, those of ranks for themselves included: then
/// every rank's blocks lie where this rank's do, and nothing need be told. Collective, blocking.
bool blocks_are_equal(const BlockProblem& problem);
/// Bytes of one read: as set, within what MPI counts.
std::ptrdiff_t chunk_bytes_of(const MethodSettings& settings);

/// Blocks lie in the window as wholes.
std::unique_ptr<BlockRunner> make_pull_whole(const BlockProblem& problem);
/// Blocks pass through a bucket a peer in the window, so that its size is bounded.
std::unique_ptr<BlockRunner> make_pull_buckets(const BlockProblem& problem);

}  // namespace tailrace
