// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/formats/chunk_codec.hpp"
#include "server/formats/chunk_grid.hpp"
#include "server/step.hpp"

namespace tailrace::server {

/// Writes shards of one array as files of its folder. Chunks that hold no items are left out:
/// readers then see the fill value.
class ShardWriter {
 public:
  struct Setting {
    std::string folder;  ///< of the array
    int threads = 1;
    bool sync = true;  ///< flush each file
  };
  /// The arguments outlive it.
  ShardWriter(const ChunkGrid& grid, const ChunkCodec& codec, std::ptrdiff_t item_bytes,
              Setting setting)
      : grid_(grid), codec_(codec), item_bytes_(item_bytes), setting_(std::move(setting)) {}

  /// Writes `shards`, filled from `parts`, which are disjoint; items in none of them are 0. Throws
  /// `Errc::io` as `fail_errno` does.
  void write(std::span<const std::int64_t> shards, std::span<const FieldPart> parts);
  std::int64_t bytes() const { return bytes_; }  ///< written so far

 private:
  struct Chunk;
  class Parts;
  class File;
  void encode(const Parts& parts, std::span<Chunk> chunks);

  const ChunkGrid& grid_;
  const ChunkCodec& codec_;
  std::ptrdiff_t item_bytes_;
  Setting setting_;
  std::int64_t bytes_ = 0;
};

}  // namespace tailrace::server
