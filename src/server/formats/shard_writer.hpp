// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/shared_memory.hpp"
#include "file/settings.hpp"
#include "server/formats/chunk_codec.hpp"
#include "server/formats/chunk_grid.hpp"
#include "server/step_file.hpp"
#include "store/attribute_values.hpp"

namespace tailrace::server {

struct ShardSetting {
  std::string folder;  ///< of the array
  int threads;
  const file::Settings& hints;  ///< whether each file is flushed, and its stripes
  store::ItemBytes fill = {};   ///< an item where there is none
};

/// Writes `shards` of one array as files of its folder, filled from `parts`, which are disjoint;
/// items in none of them are `fill`, and chunks that hold no items are left out: readers then see
/// the fill value. Returns the bytes written. Throws `Errc::io` as `fail_errno` does.
std::int64_t write_shards(const ChunkGrid& grid, const ChunkCodec& codec, std::ptrdiff_t item_bytes,
                          const ShardSetting& setting, std::span<const std::int64_t> shards,
                          std::span<const FieldPart> parts);

/// How a field is cut into shards.
struct SharedGrid {
  ChunkGrid grid;
  std::vector<std::int64_t> shared;  ///< those that several servers have items of, ascending
};
template <class Bytes>
void travel(Bytes& bytes, SharedGrid& field) {
  bytes(field.grid, field.shared);
}

void drop_empty_parts(std::vector<Field>& fields);
/// What a server says of its parts, all of which have items.
Message boxes_of(const std::vector<Field>& fields);
/// What all servers have said: of each field, the boxes of each server.
std::vector<std::vector<Boxes>> boxes_by_field(std::span<const Message> of_servers,
                                               std::size_t num_fields);
/// Numbers of the shards of `field` that this server alone has items of, ascending. Local.
std::vector<std::int64_t> own_shards(const SharedGrid& grid, const Field& field);

/// A shard that several servers have items of can only be encoded where all of them are. Each
/// server puts its items of such shards into a file beside the data, and the leader, when all have
/// written, makes the shards of them.

/// What a server has of the shared shards of one array: these boxes, one after another, each
/// without gaps, in the order of shards, then of parts. Both sides make the same list.
std::vector<Box> shared_boxes(const SharedGrid& grid, std::span<const Box> parts);
/// Appends the items of `box` of `field`, one of `shared_boxes`. Local.
void append_items(const Field& field, const Box& box, std::vector<std::byte>& items);
/// Appends those items of `field` to the file `path`. Throws `Errc::io` as `fail_errno`
/// does. Returns the bytes written.
std::int64_t append_shared(const std::string& path, const Field& field, std::span<const Box> boxes,
                           const file::Settings& hints);

/// The file of one server, in memory as far as it is looked at; nothing if it has no bytes. Throws
/// `Errc::io` if it is not as long as it must be.
Mapping map_shared(const std::string& path, std::ptrdiff_t bytes);

}  // namespace tailrace::server
