// SPDX-License-Identifier: BSD-3-Clause
// How a parallel file system spreads a file over its storage targets.
#pragma once

#include <cstddef>
#include <string>

namespace tailrace {

/// The stripes of a file, or those that new files of a folder get.
struct FileStripes {
  std::string file_system;          ///< "ceph", "lustre", "ext4", ..., "unknown"
  std::ptrdiff_t stripe_bytes = 0;  ///< 0: the file system has none, or does not report it
  int stripe_count = 0;             ///< 0: it does not report it
  // CephFS only:
  std::ptrdiff_t object_bytes = 0;
  std::string pool;
  std::string source;  ///< the parent folder that sets them, or "default of Ceph"; "": the path
};

/// Reads the stripes of `path`, or of its folder if `path` does not exist. Never throws. Local.
FileStripes file_stripes(const std::string& path);

/// Requests these stripes (0: unchanged) for the new, empty file `path`; on CephFS also for new
/// files in the folder `path`. Returns "" on success, otherwise the reason for the failure. Local.
std::string set_file_stripes(const std::string& path, std::ptrdiff_t stripe_bytes,
                             int stripe_count);

/// The layout attribute of CephFS with these stripes (0: unchanged). An object contains whole
/// stripes, so its size is 4 MiB, or more if a stripe is larger. Local.
std::string ceph_layout(const std::string& path, std::ptrdiff_t stripe_bytes, int stripe_count);

}  // namespace tailrace
