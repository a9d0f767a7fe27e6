// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/row_major.hpp"
#include "server/formats/compressors.hpp"
#include "tailrace/box.hpp"

namespace tailrace::server {

/// The regular grid of an array: shards, a file each, of whole chunks, each encoded by itself. A
/// shard of one chunk is written plain, without an index.
struct ChunkGrid {
  int num_dims = 0;
  Index extents{};  ///< of the array
  Index chunk{}, shard{};

  RowMajor shards() const;           ///< how many along each axis
  RowMajor chunks_of_shard() const;  ///< the same in each shard
  bool has_shards() const { return !(chunk == shard); }
  /// The box of a shard, or of a chunk in it; both may reach beyond the array.
  Box shard_box(std::int64_t number) const;
  Box chunk_box(const Box& shard_box, std::ptrdiff_t number) const;
  /// Numbers of the shards that `box` touches, ascending.
  std::vector<std::int64_t> shards_touching(const Box& box) const;
};

/// The boxes that one server holds of an array.
using Boxes = std::vector<Box>;

/// A grid for an array of which the servers hold `boxes`. Its chunks are those that `encoding`
/// gives for that many axes; otherwise chunks and shards have at most the bytes that `encoding`
/// says. Where the parts of the servers allow it, no shard is shared by two: its extents divide the
/// distances between their boundaries. Where that would give tiny files, the grid ignores the
/// parts. Local.
ChunkGrid choose_grid(std::span<const std::ptrdiff_t> extents, std::ptrdiff_t item_bytes,
                      const Encoding& encoding, std::span<const Boxes> boxes);

/// Numbers of the shards that several servers have items of, ascending. Local.
std::vector<std::int64_t> shared_shards(const ChunkGrid& grid, std::span<const Boxes> boxes);

}  // namespace tailrace::server
