// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/shared_cells.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/system_call.hpp"
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
  if (stat(path.c_str(), &status) != 0) store::fail_errno(errno);
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

SharedFile::SharedFile(const std::string& path, std::ptrdiff_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const int fd = uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (fd < 0) store::fail_errno(errno);
  struct stat status {};
  const bool whole = fstat(fd, &status) == 0 && status.st_size == bytes;
  void* data = whole ? mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
  const int error = errno;
  close_descriptor(fd);
  if (!whole) {
    throw Error(Errc::io, fmt::format("{} has {} bytes instead of {}", path, status.st_size, bytes),
                EIO);
  }
  if (data == MAP_FAILED) store::fail_errno(error);
  data_ = static_cast<const std::byte*>(data);
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

SharedFile::~SharedFile() {
  if (data_ != nullptr) {
    munmap(const_cast<std::byte*>(data_), static_cast<std::size_t>(bytes_));
  }
}

}  // namespace tailrace::server
