// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "store/file_image.hpp"

namespace tailrace::store {

/// A file without a lasting name, in memory where /dev/shm exists. HDF5 opens no file without any:
/// it asks for the real path of /proc/self/fd/N, and a memfd has none.
class MemoryFile {
 public:
  /// Throws `Errc::io`.
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  /// Takes the name away; what is open stays open.
  void remove();

 private:
  std::string path_;
  int fd_ = -1;
};

/// Removes what a process that was killed while it made such a file has left. Local.
void remove_memory_files_of(int pid) noexcept;

struct FileRange {
  std::ptrdiff_t start;
  std::ptrdiff_t end;
};

/// Copies what is neither a hole nor in `data` (ascending): the writers write there. Throws
/// `Errc::io`.
void take_metadata(int fd, std::span<const FileRange> data, FileImage& image);

/// Adds the last row of the checksum table, which stands for all that is not in `data` (ascending),
/// holes included.
void add_header_row(std::span<const FileRange> data, std::ptrdiff_t table_rows,
                    std::size_t num_variables, FileImage& image);

}  // namespace tailrace::store
