// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "move/blocks/runner.hpp"
#include "tailrace/comm.hpp"

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

/// A part of a block, or of a bucket, that is read at once.
struct Chunk {
  int peer = 0;
  std::uint32_t index = 0;  ///< it begins `index` chunks after the block
  bool operator==(const Chunk&) const = default;
};

/// Numbers that `pull_order` draws from: the same on all ranks, others for each exchange (in a
/// simulation the same in each run of it). Collective over `comm`, blocking.
std::vector<std::uint32_t> draw_pull_seed(const Comm& comm, bool simulated);

/// All chunks of `chunk_bytes` of blocks of `block_bytes[peer]`, less the one of `rank` itself, in
/// a random order of this rank's own, the same for the same `seed`, `rank` and `piece`. So no rank
/// is everybody's target at once, on no link do the messages of many line up. Local.
std::vector<Chunk> pull_order(std::span<const std::ptrdiff_t> block_bytes,
                              std::ptrdiff_t chunk_bytes, std::span<const std::uint32_t> seed,
                              int rank, std::ptrdiff_t piece);

}  // namespace tailrace
