// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "core/system_call.hpp"

namespace tailrace::store {

/// A small file, or one that grows at its end, open for writing. Failures are `Error(Errc::io)` as
/// `fail_errno` throws them. (`file::BackEnd` writes the large ones.)
class OpenFile {
 public:
  OpenFile(const char* path, int flags);

  void write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset);
  void resize(std::ptrdiff_t bytes) const;
  void flush() const;
  void close();

 private:
  Descriptor file_;
};

}  // namespace tailrace::store
