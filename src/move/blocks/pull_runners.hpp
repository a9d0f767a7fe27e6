// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
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

/// Where a rank shows its blocks to the others.
class PullMemory {
 public:
  virtual ~PullMemory() = default;
  /// The blocks are written here.
  virtual std::span<std::byte> own() const = 0;
  /// Lets others read `bytes` of it, from `offset` on.
  virtual void publish(std::ptrdiff_t offset, std::ptrdiff_t bytes) = 0;
  /// Lets this rank read what others have published before it heard of it.
  virtual void see() = 0;
  virtual MPI_Request start_read(int rank, std::ptrdiff_t offset, std::span<std::byte> to) = 0;
  /// Bytes that it holds.
  virtual std::ptrdiff_t buffer_bytes() const { return std::ssize(own()); }
};

/// Bytes of this rank's blocks for all.
std::ptrdiff_t sent_bytes(const BlockShape& shape);

/// Blocks are shown as wholes, in memory of `sent_bytes`.
std::unique_ptr<BlockRunner> make_pull_whole(const BlockProblem& problem,
                                             std::unique_ptr<PullMemory> memory);
/// Blocks pass through a bucket a peer in the window, so that its size is bounded.
std::unique_ptr<BlockRunner> make_pull_buckets(const BlockProblem& problem);

}  // namespace tailrace
