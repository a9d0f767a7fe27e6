// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// One way to drive the device as plainly as can be.
struct LimitSetting {
  int threads = 1;
  std::ptrdiff_t call_bytes = 1 << 20;
  bool direct = false;  ///< past the page cache
  std::string name() const;
};

/// 1, 2, 4 threads x 1, 4, 8 MiB a call x O_DIRECT or page cache; O_DIRECT only where `path` can.
std::vector<LimitSetting> limit_settings(const std::string& path);

/// Large plain writes and reads of one file by threads of this process, each its own contiguous
/// part: what the device gives.
class Limit {
 public:
  /// `bytes` are rounded up to whole pages.
  Limit(std::string path, std::ptrdiff_t bytes);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  std::ptrdiff_t bytes() const { return bytes_; }
  /// Seconds for a new file: open, write, flush to disk, close. The file stays.
  double write_s(const LimitSetting& setting);
  /// Seconds to open, read and close the file, which is not in the page cache (unless its file
  /// system lives there).
  double read_s(const LimitSetting& setting);

 private:
  void each_part(const LimitSetting& setting, int file, bool writes);
  void one_part(std::ptrdiff_t start, std::ptrdiff_t end, std::ptrdiff_t call, int file,
                bool writes);
  std::string path_;
  std::ptrdiff_t bytes_;
  std::byte* data_;
};

/// Takes the file `path`, or all files of the folder `path`, out of the page cache. Local.
void drop_from_cache(const std::string& path);

}  // namespace bench
