// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/system_call.hpp"

namespace tailrace {

/// Sets (F_WRLCK) or ends (F_UNLCK) a lock of an open file on a range of it; `bytes` 0: to its end.
/// `command` is F_OFD_SETLK, or F_OFD_SETLKW to wait. -1 with errno set on failure. Local.
int set_lock(int descriptor, short kind, int command, off_t start = 0, off_t bytes = 0) noexcept;

/// A lock that processes of several jobs share by a file, on this node or over NFS, Lustre or Ceph:
/// a lock of the open file (fcntl), or flock where the file system has no other. The kernel lets go
/// of it when the process ends, however it ends. The file stays.
class FileLock {
 public:
  FileLock() = default;
  /// Waits for the lock. Throws `Errc::io` after `wait_s` seconds, or if there can be none. Local.
  FileLock(const std::string& path, double wait_s);

 private:
  Descriptor file_;
};

}  // namespace tailrace
