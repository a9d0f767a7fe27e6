// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include "core/replaced.hpp"
#include "store/partial_file.hpp"

namespace tailrace::server {

/// `PATH.partial`, a folder that becomes `PATH` when it is whole. A lock on it keeps other runs
/// away and tells what is being written from what a killed run left. Failures are `Errc::io` as
/// `fail_errno` throws them.
class PartialFolder {
 public:
  /// A relative path counts from the working folder of this moment.
  explicit PartialFolder(const std::string& path);

  std::string partial() const { return name_beside(target_, ".partial"); }
  bool held() const { return lock_.held(); }
  /// Where `PATH` leads: known after `create`; the other servers are told.
  const std::string& target() const { return target_; }
  void set_target(const std::string& target) { target_ = target; }

  /// Makes the folder, empty, and locks it, where `PATH` leads if it is a symbolic link. One that
  /// nobody holds is removed first; if a killed run left only `PATH.replaced.partial`, that gets
  /// its name back. `keep` names the file that every folder of this kind has: a `PATH` without it
  /// is somebody's, and is refused (EEXIST). EBUSY if another run holds the lock.
  void create(const std::string& keep);
  /// Removes a folder in it.
  void remove(const std::string& name) const;
  /// Gives the folder its final name, and the access of what had it before: mode, group and access
  /// control list of the folder, and those of its `keep` for all files. What had the name stays
  /// complete until then and is removed afterwards: killed at any moment, either the earlier or the
  /// new one is there. If it cannot be removed, the error names it, and it is removed later as by
  /// `discard`. With `sync` everything in it is flushed first, folders too, and its name last: if
  /// that fails, the folder has its final name all the same.
  void commit(bool sync);
  /// Removes it, if this object made it. `names` are the files that may be in it, for a file system
  /// in trouble that lets no folder be read. Returns the name of what is left of it, or ""; that is
  /// removed when the next folder is made or discarded, or when the process ends, if it can be.
  std::string discard(std::span<const std::string> names) noexcept;

 private:
  std::string replaced() const { return name_beside(target_, ".replaced.partial"); }
  void take_over_access();

  std::string target_, keep_;
  Access folder_access_, file_access_;  // of what it replaces
  store::NameLock lock_;
};

}  // namespace tailrace::server
