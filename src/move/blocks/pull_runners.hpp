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

/// A part of a block that is read at once.
struct Chunk {
  int peer = 0;
  std::uint32_t index = 0;  ///< it begins `index` chunks after the block
  bool operator==(const Chunk&) const = default;
};

/// All chunks of `chunk_bytes` of blocks of `block_bytes[peer]`, less the one of `rank` itself, in
/// a random order of this rank's own, the same for the same `seed`, `rank` and `piece`. So no rank
/// is everybody's target at once, on no link do the messages of many line up. Local.
std::vector<Chunk> pull_order(std::span<const std::ptrdiff_t> block_bytes,
                              std::ptrdiff_t chunk_bytes, std::span<const std::uint32_t> seed,
                              int rank, std::ptrdiff_t piece);

}  // namespace tailrace
