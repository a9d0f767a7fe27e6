// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace tailrace::server {

/// Memory that has a file descriptor (memfd) to be given to another process. Without a name: gone
/// with its last user.
class SharedMemory {
 public:
  /// Throws `Errc::io`.
  explicit SharedMemory(std::ptrdiff_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* data() const { return data_; }
  int descriptor() const { return descriptor_; }
  /// The descriptor is needed no more; the memory stays.
  void close_descriptor();

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int descriptor_ = -1;
};

}  // namespace tailrace::server
