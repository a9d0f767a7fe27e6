// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/shared_cells.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include "move/strided_copy.hpp"
#include "store/open_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

// `box` lies in one of the parts.
const FieldPart& part_with(const Field& field, const Box& box) {
  for (const auto& part : field.parts) {
    if (intersect(part.box, box) == box) return part;
  }
  throw Error(Errc::internal, "a box of a shared shard is in no part");
}

}  // namespace

std::vector<Box> shared_boxes(const ChunkGrid& grid, std::span<const std::int64_t> shards,
                              std::span<const Box> parts) {
  std::vector<Box> boxes;
  for (const auto shard : shards) {
    const auto cell = grid.shard_box(shard);
    for (const auto& part : parts) {
      const auto box = intersect(part, cell);
      if (!box.empty()) boxes.push_back(box);
    }
  }
  return boxes;
}

std::int64_t append_shared(const std::string& path, const Field& field,
                           std::span<const Box> boxes) {
  store::OpenFile file(path.c_str(), O_RDWR | O_CREAT);
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail_errno(errno);
  const auto item = item_bytes(field.type);
  std::int64_t at = status.st_size;
  std::vector<std::byte> packed;
  for (const auto& box : boxes) {
    const auto& part = part_with(field, box);
    const auto its = Memory::dense({&part.box, 1}).boxes.front();
    packed.resize(static_cast<std::size_t>(box.num_items() * item));
    StridedCopy(box, side_of(box, part.box, its), packed_side(box, 0), item)
        .run(part.data, packed.data());
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
