// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/replaced.hpp"
#include "core/system_call.hpp"
#include "file/settings.hpp"

namespace tailrace::store {

/// A lock (flock) on the file or folder that has a name. The kernel lets go of it when a process
/// ends however it ends, so that what a killed run left can be told from what is being written.
/// Only the holder of the lock of the file that has the name removes or renames it.
class NameLock {
 public:
  /// A name passes to another file when two runs meet; more often than this it is no accident.
  static constexpr int most_tries = 100;
  [[noreturn]] static void fail_to_take(const std::string& name);

  /// Opens `name` with `flags` and `mode` of open(2) and takes the lock. False if the name has
  /// passed to another file meanwhile or there is none (or one already, if it was to be made).
  /// Throws `Errc::io`: EBUSY if another run holds it. Local.
  bool take(const std::string& name, int flags, mode_t mode = 0666);
  /// Lets readers in, as HDF5 locks what it reads, but no other run. Before the file gets a name
  /// that readers look for. Throws `Errc::io`: EBUSY if another run has taken `name` meanwhile.
  /// Local.
  void share(const std::string& name);
  /// True if `name` is still the file of the lock. Throws `Errc::io` if that cannot be seen. Local.
  bool has_name(const std::string& name) const;
  bool held() const { return static_cast<bool>(file_); }
  int descriptor() const { return file_.get(); }
  /// Lets go of the lock, as its end does; the file stays.
  void release() noexcept { file_.close(); }

 private:
  Descriptor file_;
};

/// `PATH.partial` while it grows, on the rank that makes it: the lock keeps other runs away until
/// it has its final name or is removed.
class PartialFile : public NameLock {
 public:
  /// Makes a new, empty file `name`, laid out over the storage as `settings` say, and locks it. One
  /// that nobody holds is replaced. It has the access of the file that it will replace, and the
  /// owner may write. Throws like `take`. Local.
  void create(const std::string& name, const file::Settings& settings, const Access& access);

 private:
  void make(const std::string& name, const Access& access, bool& made);
  void set_stripes(const std::string& name, const file::Settings& settings);
};

}  // namespace tailrace::store
