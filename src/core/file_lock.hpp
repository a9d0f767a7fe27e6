// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/system_call.hpp"

namespace tailrace {

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
