// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "core/descriptor.hpp"

namespace tailrace::store {

/// A file open for writing. Large aligned pieces may go around the page cache (O_DIRECT) where the
/// file system can: the data is flushed at once anyway, and the copy would take processor time from
/// the simulation. Failures are `Error(Errc::io)` as `fail_errno` throws them.
class OpenFile {
 public:
  OpenFile(const char* path, int flags);

  /// Asks for writes around the page cache from now on, for pieces of at least `least_bytes`.
  void open_direct(const char* path, std::ptrdiff_t least_bytes);
  void write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset);
  void resize(std::ptrdiff_t bytes) const;
  void flush() const;
  void close();
  /// System calls that wrote.
  std::int64_t writes() const { return writes_; }

 private:
  ssize_t write_some(const char* data, std::ptrdiff_t bytes, std::ptrdiff_t offset);

  Descriptor file_, direct_;
  std::ptrdiff_t least_direct_ = 0;
  std::int64_t writes_ = 0;
};

}  // namespace tailrace::store
