// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <xxhash.h>

#include "core/system_call.hpp"
#include "store/file_image.hpp"

namespace tailrace::store {

/// A file without a lasting name, in memory where /dev/shm exists. HDF5 opens no file without any:
/// it asks for the real path of /proc/self/fd/N, and a memfd has none.
class MemoryFile {
 public:
  /// Throws `Errc::io`.
  MemoryFile();
  ~MemoryFile() { remove(); }
  int fd() const { return file_.get(); }
  const std::string& path() const { return path_; }
  /// Takes the name away; what is open stays open.
  void remove();

 private:
  std::string path_;
  Descriptor file_;
};

/// Removes what a process that was killed while it made such a file has left. Local.
void remove_memory_files_of(int pid) noexcept;

/// XXH3 of bytes that come piece by piece.
class Hash {
 public:
  Hash() { XXH3_64bits_reset(state_.get()); }
  void add(const std::byte* data, std::ptrdiff_t bytes) {
    XXH3_64bits_update(state_.get(), data, static_cast<std::size_t>(bytes));
    bytes_ += bytes;
  }
  std::ptrdiff_t bytes() const { return bytes_; }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
  std::ptrdiff_t bytes_ = 0;
};

/// Copies what is neither a hole nor in `data` (ascending): the writers write there. Throws
/// `Errc::io`.
void take_metadata(int fd, std::span<const Range> data, FileImage& image);

/// Adds the last row of the checksum table, which stands for all that is not in `data` (ascending),
/// holes included.
void add_header_row(std::span<const Range> data, std::ptrdiff_t table_rows,
                    std::size_t num_variables, FileImage& image);

}  // namespace tailrace::store
