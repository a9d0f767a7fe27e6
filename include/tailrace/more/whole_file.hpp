// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tailrace {

/// Writes a small file that gets its name when it is whole: until then it is `PATH.partial`, and
/// what had the name before stays. Symbolic links are followed, and the new file has the mode,
/// group and access control list of the old one; `flush`: it is on the disk when this returns.
/// Throws `Errc::io`, also for what is no regular file, and leaves nothing then. Local.
void write_whole_file(const std::string& path, std::string_view text, bool flush = false);
/// The first `most_bytes` of a file. Throws `Errc::io`, also for what is no regular file: a device
/// may have no end, and a pipe no writer. Local.
std::string read_whole_file(const std::string& path, std::size_t most_bytes = SIZE_MAX);

class Descriptor;

/// A lock that processes of several jobs share by a file, on this node or over NFS, Lustre or Ceph:
/// a lock of the open file (fcntl), or flock where the file system has no other. The kernel lets go
/// of it when the process ends, however it ends. The file stays.
class FileLock {
 public:
  FileLock() = default;
  /// Waits for the lock. Throws `Errc::io` after `wait_s` seconds (EAGAIN), or if there can be
  /// none. Local.
  FileLock(const std::string& path, double wait_s);

 private:
  std::shared_ptr<Descriptor> file_;
};

}  // namespace tailrace
