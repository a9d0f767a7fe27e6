// SPDX-License-Identifier: BSD-3-Clause
#include "store/memory_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {

namespace {

void take_range(int fd, std::ptrdiff_t start, std::ptrdiff_t end, FileImage& image) {
  if (start >= end) return;
  const int error = read_at(fd, image.add(start, end - start), end - start, start);
  if (error != 0) throw Error(Errc::io, "cannot read the file image", error);
}

/// The next data, or the next hole, of the file from `at` on: what `whence` of lseek(2) says; `end`
/// if there is none. A file system that does not know its holes says that all is data.
off_t next_place(int fd, off_t at, int whence, off_t end) {
  const off_t place = uninterrupted([&] { return lseek(fd, at, whence); });
  if (place >= 0) return std::min(place, end);
  if (errno == ENXIO) return end;
  if (errno == EINVAL) return whence == SEEK_DATA ? at : end;
  throw Error(Errc::io,
              fmt::format("cannot look for the data of the file image: {} (errno {})",
                          std::strerror(errno), errno),
              errno);
}

constexpr const char* folders[] = {"/dev/shm", "/tmp", "."};

std::string prefix_of(int pid) { return fmt::format("tailrace_metadata_{}_", pid); }

void add_zeros(Hash& hash, std::ptrdiff_t bytes) {
  static const std::array<std::byte, 1 << 16> zeros{};
  for (; bytes > 0; bytes -= std::ssize(zeros)) {
    hash.add(zeros.data(), std::min(bytes, std::ssize(zeros)));
  }
}

}  // namespace

MemoryFile::MemoryFile() {
  for (const char* folder : folders) {
    file_ = Descriptor(uninterrupted([&] {
      path_ = absolute_path(fmt::format("{}/{}XXXXXX", folder, prefix_of(getpid())));
      return mkostemp(path_.data(), O_CLOEXEC);
    }));
    if (file_) return;
  }
  throw Error(Errc::io, "cannot make a file in /dev/shm, /tmp or the working folder", errno);
}

void MemoryFile::remove() {
  if (!path_.empty()) unlink(path_.c_str());
  path_.clear();
}

void remove_memory_files_of(int pid) noexcept {
  const auto prefix = prefix_of(pid);
  for (const char* folder : folders) {
    std::error_code none;
    for (std::filesystem::directory_iterator entry(folder, none), end; !none && entry != end;
         entry.increment(none)) {
      if (entry->path().filename().native().starts_with(prefix)) unlink(entry->path().c_str());
    }
  }
}

void take_metadata(int fd, std::span<const Range> data, FileImage& image) {
  struct stat status {};
  if (fstat(fd, &status) != 0) throw Error(Errc::io, "cannot stat the file image", errno);
  image.total_bytes = status.st_size;
  for (off_t at = 0; at < status.st_size;) {
    const off_t start = next_place(fd, at, SEEK_DATA, status.st_size);
    if (start == status.st_size) break;  // only holes from here on
    const off_t end = next_place(fd, start, SEEK_HOLE, status.st_size);
    std::ptrdiff_t from = start;
    for (const auto& range : data) {
      if (range.end() <= from || range.start >= end) continue;
      take_range(fd, from, range.start, image);
      from = range.end();
    }
    take_range(fd, from, end, image);
    at = end;
  }
}

void add_header_row(std::span<const Range> data, std::ptrdiff_t table_rows,
                    std::size_t num_variables, FileImage& image) {
  Hash hash;
  auto extent = image.extents.begin();
  const auto add_until = [&](std::ptrdiff_t from, std::ptrdiff_t end) {
    for (; extent != image.extents.end() && extent->file_offset < end; ++extent) {
      add_zeros(hash, extent->file_offset - from);
      hash.add(image.bytes.data() + extent->start, extent->count);
      from = extent->file_offset + extent->count;
    }
    add_zeros(hash, end - from);
  };
  std::ptrdiff_t at = 0;
  for (const auto& range : data) {
    add_until(at, range.start);
    at = range.end();
  }
  add_until(at, image.total_bytes);
  const ChecksumRow row{num_variables, 0, static_cast<std::uint64_t>(hash.bytes()), hash.value()};
  const auto bytes = static_cast<std::ptrdiff_t>(sizeof(row));
  std::memcpy(image.add(image.table_offset + table_rows * bytes, bytes), &row, sizeof(row));
}

}  // namespace tailrace::store
