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

struct ShardSetting {
  std::string folder;  ///< of the array
  int threads = 1;
  bool sync = true;  ///< flush each file
};

/// Writes `shards` of one array as files of its folder, filled from `parts`, which are disjoint;
/// items in none of them are 0, and chunks that hold no items are left out: readers then see the
/// fill value. Returns the bytes written. Throws `Errc::io` as `fail_errno` does.
std::int64_t write_shards(const ChunkGrid& grid, const ChunkCodec& codec, std::ptrdiff_t item_bytes,
                          const ShardSetting& setting, std::span<const std::int64_t> shards,
                          std::span<const FieldPart> parts);

}  // namespace tailrace::server
