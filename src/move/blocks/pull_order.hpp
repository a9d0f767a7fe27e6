// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

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
