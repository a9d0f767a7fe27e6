// SPDX-License-Identifier: BSD-3-Clause
// A few chunks at a time are encoded by all threads, then appended to their files in order. The
// index of a shard comes last (Zarr's codec "sharding_indexed").

#include "server/formats/shard_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/bytes.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "core/worker.hpp"
#include "file/back_end.hpp"
#include "file/limiter.hpp"
#include "move/strided_copy.hpp"
#include "server/formats/chunk_codec.hpp"
#include "server/formats/chunk_parts.hpp"
#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::server {
namespace {

struct Chunk {
  std::int64_t shard = 0;
  std::ptrdiff_t number = 0;  ///< in its shard
  Box box;                    ///< may reach beyond the array
  RawBytes encoded;
};

/// The file of the shard that is being written.
class File {
 public:
  File(const ChunkGrid& grid, const ShardSetting& setting, std::int64_t shard)
      : shard_(shard),
        sync_(setting.hints.sync),
        index_(grid.has_shards() ? static_cast<std::size_t>(grid.chunks_of_shard().num_items()) * 2
                                 : 0,
               UINT64_MAX),
        file_(make_place(grid, setting, shard), O_WRONLY | O_CREAT | O_TRUNC,
              setting.hints.back_end) {}

  std::int64_t shard() const { return shard_; }
  void append(const Chunk& chunk) {
    file_.write(chunk.encoded.data(), std::ssize(chunk.encoded), bytes_);
    if (!index_.empty()) {
      const auto at = static_cast<std::size_t>(chunk.number) * 2;
      index_[at] = static_cast<std::uint64_t>(bytes_);
      index_[at + 1] = chunk.encoded.size();
    }
    bytes_ += std::ssize(chunk.encoded);
  }
  /// Returns the bytes of the file.
  std::int64_t close() {
    if (!index_.empty()) {
      std::vector<std::byte> text;
      const auto add = [&](std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) text.push_back(static_cast<std::byte>(value >> (8 * i)));
      };
      for (const auto value : index_) add(value, 8);
      add(crc32c(text.data(), std::ssize(text)), 4);
      file_.write(text.data(), std::ssize(text), bytes_);
      bytes_ += std::ssize(text);
    }
    if (sync_) file_.flush();
    file_.close();
    return bytes_;
  }

 private:
  // FOLDER/c/0/1/2; the folders may be made by several servers at once. The file itself is made
  // here only to be laid out over the storage.
  static std::string make_place(const ChunkGrid& grid, const ShardSetting& setting,
                                std::int64_t shard) {
    const auto place = grid.shards().place_of(shard);
    auto path = setting.folder + "/c";
    for (std::size_t d = 0; d < static_cast<std::size_t>(grid.num_dims); ++d) {
      const int made = uninterrupted([&] { return mkdir(path.c_str(), 0777); });
      if (made != 0 && errno != EEXIST) fail_errno(errno);
      path += fmt::format("/{}", place[d]);
    }
    if (setting.hints.set_striping) file::create_file(path, setting.hints);
    return path;
  }

  std::int64_t shard_;
  bool sync_;
  std::vector<std::uint64_t> index_;  ///< offset and bytes of each chunk; -1: not there
  std::int64_t bytes_ = 0;
  file::LimitedFile file_;
};

}  // namespace

std::int64_t write_shards(const ChunkGrid& grid, const ChunkCodec& codec, std::ptrdiff_t item_bytes,
                          const ShardSetting& setting, std::span<const std::int64_t> shards,
                          std::span<const FieldPart> parts) {
  const ChunkParts found(grid, parts, setting.fill);
  std::int64_t bytes = 0;
  std::vector<Chunk> chunks;
  std::unique_ptr<File> file;
  const auto flush = [&] {
    parallel_for(std::ssize(chunks), setting.threads, [&](std::ptrdiff_t i) {
      auto& chunk = chunks[static_cast<std::size_t>(i)];
      RawBytes items(static_cast<std::size_t>(chunk.box.num_items() * item_bytes));
      found.gather(chunk.box, item_bytes, items);
      codec.encode(items, chunk.encoded);
    });
    for (const auto& chunk : chunks) {
      if (file && file->shard() != chunk.shard) bytes += std::exchange(file, nullptr)->close();
      if (!file) file = std::make_unique<File>(grid, setting, chunk.shard);
      file->append(chunk);
    }
    chunks.clear();
  };
  const auto at_once = static_cast<std::size_t>(chunks_at_once(setting.threads));
  const auto in_shard = grid.chunks_of_shard().num_items();
  for (const auto shard : shards) {
    const auto shard_box = grid.shard_box(shard);
    for (std::ptrdiff_t number = 0; number < in_shard; ++number) {
      const auto box = grid.chunk_box(shard_box, number);
      if (!found.touch(box)) continue;
      chunks.push_back({shard, number, box, {}});
      if (chunks.size() == at_once) flush();
    }
  }
  flush();
  if (file) bytes += file->close();
  return bytes;
}

void drop_empty_parts(std::vector<Field>& fields) {
  for (auto& field : fields) {
    std::erase_if(field.parts, [](const FieldPart& part) { return part.box.empty(); });
  }
}

Message boxes_of(const std::vector<Field>& fields) {
  std::vector<Boxes> all;
  for (const auto& field : fields) all.push_back(field.boxes());
  return bytes_from(all);
}

std::vector<std::vector<Boxes>> boxes_by_field(std::span<const Message> of_servers,
                                               std::size_t num_fields) {
  std::vector<std::vector<Boxes>> boxes(num_fields);
  for (const auto& message : of_servers) {
    auto of_fields = value_from<std::vector<Boxes>>(message);
    for (std::size_t f = 0; f < num_fields; ++f) boxes[f].push_back(std::move(of_fields[f]));
  }
  return boxes;
}

std::vector<std::int64_t> own_shards(const SharedGrid& grid, const Field& field) {
  std::vector<std::int64_t> own;
  for (const auto& part : field.parts) {
    for (const auto shard : grid.grid.shards_touching(part.box)) {
      if (!std::ranges::binary_search(grid.shared, shard)) own.push_back(shard);
    }
  }
  std::ranges::sort(own);
  const auto repeated = std::ranges::unique(own);
  own.erase(repeated.begin(), repeated.end());
  return own;
}

std::vector<Box> shared_boxes(const SharedGrid& grid, std::span<const Box> parts) {
  std::vector<Box> boxes;
  for (const auto shard : grid.shared) {
    const auto cell = grid.grid.shard_box(shard);
    for (const auto& part : parts) {
      const auto box = intersect(part, cell);
      if (!box.empty()) boxes.push_back(box);
    }
  }
  return boxes;
}

void append_items(const Field& field, const Box& box, std::vector<std::byte>& items) {
  const auto part = std::ranges::find_if(
      field.parts, [&](const FieldPart& one) { return intersect(one.box, box) == box; });
  if (part == field.parts.end()) {
    throw Error(Errc::internal, "a box of a shared shard is in no part");
  }
  const auto item = item_bytes(field.type);
  const auto at = items.size();
  items.resize(at + static_cast<std::size_t>(box.num_items() * item));
  StridedCopy(box, side_in_packed(box, part->box), packed_side(box), item)
      .run(part->data, items.data() + at);
}

std::int64_t append_shared(const std::string& path, const Field& field, std::span<const Box> boxes,
                           const file::Settings& hints) {
  file::LimitedFile file(path, O_RDWR | O_CREAT, hints.back_end);
  struct stat status {};
  if (uninterrupted([&] { return stat(path.c_str(), &status); }) != 0) fail_errno(errno);
  std::int64_t at = status.st_size;
  std::vector<std::byte> packed;
  for (const auto& box : boxes) {
    packed.clear();
    append_items(field, box, packed);
    file.write(packed.data(), std::ssize(packed), at);
    at += std::ssize(packed);
  }
  file.close();
  return at - status.st_size;
}

Mapping map_shared(const std::string& path, std::ptrdiff_t bytes) {
  if (bytes == 0) return {};
  const Descriptor file = open_descriptor(path, O_RDONLY);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) fail_errno(errno);
  if (status.st_size != bytes) {
    throw Error(Errc::io, fmt::format("{} has {} bytes instead of {}", path, status.st_size, bytes),
                EIO);
  }
  return {file.get(), bytes, false};
}

}  // namespace tailrace::server
