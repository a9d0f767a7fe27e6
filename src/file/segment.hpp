// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailrace::file {

/// Bytes that are contiguous both in the file and in memory.
struct Segment {
  std::ptrdiff_t file_offset = 0;
  std::ptrdiff_t memory_offset = 0;  ///< counted from the memory that the call is given
  std::ptrdiff_t bytes = 0;
  std::ptrdiff_t file_end() const { return file_offset + bytes; }
};

}  // namespace tailrace::file
