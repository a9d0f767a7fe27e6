// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace tailrace::server {

/// What one writer gets out of a folder's file system.
struct DiskSpeed {
  double bytes_per_s = 0;  ///< 0: could not be measured
  double busy = 0;         ///< share of the time that was processor time of the writer
};

/// Writes a nameless file in `folder` (or, as long as that does not exist, the nearest folder above
/// it) and flushes it again and again, as output does: around the page cache where that works.
/// Stops after about 0.25 s or 128 MiB. Nothing is left behind. Local.
DiskSpeed measure_disk(const std::string& folder);

/// Bytes that one core copies in a second [bytes/s], from and to memory that no cache holds. Takes
/// about 0.05 s. Local.
double measure_copying();

}  // namespace tailrace::server
