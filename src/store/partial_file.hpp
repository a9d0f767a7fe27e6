// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/descriptor.hpp"
#include "file/settings.hpp"

namespace tailrace::store {

/// `PATH.partial` while it grows, on the rank that makes it. A lock on it (flock) keeps other runs
/// away until it has its final name or is removed; the kernel lets go of the lock when a process
/// ends however it ends, so that what a killed run left can be told from what is being written.
/// Only the holder of the lock of the file that has the name removes or renames it.
class PartialFile {
 public:
  /// Makes a new, empty file `name`, laid out over the storage as `settings` say, and locks it. One
  /// that nobody holds is replaced. Throws `Errc::io`: EBUSY if another run holds it. Local.
  void create(const std::string& name, const file::Settings& settings);
  bool held() const { return static_cast<bool>(file_); }
  /// Lets go of the lock, as its end does; the file stays.
  void release() noexcept { file_.close(); }

 private:
  bool lock(const std::string& name, int flags);

  Descriptor file_;
};

}  // namespace tailrace::store
