// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tailrace {

/// Writes a small file that gets its name when it is complete: until then it is `PATH.partial`, and
/// an earlier file with the name is kept. Symbolic links are followed, and the new file has the
/// mode, group and access control list of the old one. With `flush`, the data is on disk when this
/// returns. Throws `Errc::io`, also if `path` is not a regular file; no partial file then remains.
/// Local.
void write_whole_file(const std::string& path, std::string_view text, bool flush = false);
/// Reads the first `most_bytes` of a file. Throws `Errc::io`, also if `path` is not a regular file:
/// a device may have no end, and a pipe no writer. Local.
std::string read_whole_file(const std::string& path, std::size_t most_bytes = SIZE_MAX);

class Descriptor;

/// A file lock between processes of several jobs, on one node or over NFS, Lustre or Ceph: an open
/// file description lock (fcntl), or flock if the file system supports no other. The kernel
/// releases it when the process ends, even by a signal. The file remains.
class FileLock {
 public:
  FileLock() = default;
  /// Waits for the lock. Throws `Errc::io` after `wait_s` seconds (EAGAIN), or if locks are not
  /// supported. Local.
  FileLock(const std::string& path, double wait_s);

 private:
  std::shared_ptr<Descriptor> file_;
};

}  // namespace tailrace
