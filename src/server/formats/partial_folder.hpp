// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "store/partial_file.hpp"

namespace tailrace::server {

/// `PATH.partial`, a folder that becomes `PATH` when it is whole. A lock on it keeps other runs
/// away and tells what is being written from what a killed run left. Failures are `Errc::io` as
/// `fail_errno` throws them.
class PartialFolder {
 public:
  explicit PartialFolder(std::string path) : path_(std::move(path)) {}

  std::string partial() const { return path_ + ".partial"; }
  bool held() const { return lock_.held(); }

  /// Makes the folder, empty, and locks it. One that nobody holds is removed first; if a killed run
  /// left only `PATH.old`, that gets its name back. `keep` names the file that every folder of this
  /// kind has: a `PATH` without it is somebody's, and is refused (EEXIST). EBUSY if another run
  /// holds the lock.
  void create(const std::string& keep);
  /// Removes a folder in it.
  void remove(const std::string& name) const;
  /// Gives the folder its final name. What had it before stays complete until then and is removed
  /// afterwards: killed at any moment, either the earlier or the new one is there. With `sync`
  /// everything in it is flushed first, folders too.
  void commit(bool sync);
  /// Removes it, if this object made it. Returns the name of what is left of it, or "".
  std::string discard() noexcept;

 private:
  std::string old() const { return path_ + ".old"; }

  std::string path_;
  store::NameLock lock_;
};

}  // namespace tailrace::server
