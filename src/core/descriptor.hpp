// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "core/system_call.hpp"

namespace tailrace {

/// Owner of a file descriptor. Move-only. Local.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Returns 0, or -1 with errno set. Once; nothing if there is none.
  int close() { return fd_ < 0 ? 0 : close_descriptor(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

/// Opens `path`; not inherited by programs that are started. -1 with errno set on failure.
Descriptor open_descriptor(const char* path, int flags);
inline Descriptor open_descriptor(const std::string& path, int flags) {
  return open_descriptor(path.c_str(), flags);
}

}  // namespace tailrace
