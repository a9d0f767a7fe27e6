// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "file/settings.hpp"

namespace tailrace::store {

/// `PATH.partial` while it grows, on the rank that makes it. A lock on it (flock) keeps other runs
/// away until it has its final name or is removed; the kernel lets go of the lock when a process
/// ends however it ends, so that what a killed run left can be told from what is being written.
/// Only the holder of the lock of the file that has the name removes or renames it.
class PartialFile {
 public:
  PartialFile() = default;
  /// Lets go of the lock; the file stays.
  ~PartialFile() { release(); }
  PartialFile(PartialFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PartialFile& operator=(PartialFile&&) = delete;

  /// Makes a new, empty file `name`, laid out over the storage as `settings` say, and locks it. One
  /// that nobody holds is replaced. Throws `Errc::io`: EBUSY if another run holds it. Local.
  void create(const std::string& name, const file::Settings& settings);
  bool held() const { return fd_ >= 0; }
  void release() noexcept;

 private:
  bool lock(const std::string& name, int flags);

  int fd_ = -1;
};

}  // namespace tailrace::store
