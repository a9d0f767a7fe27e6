// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "file/segment.hpp"

namespace tailrace::file {

/// One system call: bytes that are neighbours in the file, in any pieces of memory.
struct Call {
  std::ptrdiff_t offset = 0;
  std::ptrdiff_t bytes = 0;
  bool direct = false;  ///< offset, memory and bytes are multiples of a page; one piece
  std::span<iovec> pieces;
};

struct CallLimits {
  std::ptrdiff_t bytes = std::ptrdiff_t{1} << 30;  ///< calls end at multiples of it
  std::ptrdiff_t direct_bytes = 8 << 20;           ///< the same for direct calls
  std::ptrdiff_t direct_from = 0;  ///< least page-aligned bytes for a direct call; 0 = none
};

/// Walks ascending segments as the fewest calls: neighbours in the file share a call, and if they
/// are neighbours in memory too, a piece of it. With `direct_from`, the page-aligned middle of a
/// long segment is a call of its own.
class Calls {
 public:
  Calls(std::span<const Segment> segments, const std::byte* memory, const CallLimits& limits)
      : segments_(segments), memory_(memory), limits_(limits) {
    skip_empty();
  }
  /// The next call, or false at the end. `call.pieces` is valid until the next one.
  bool next(Call& call);

 private:
  struct Run {
    std::ptrdiff_t offset = 0;
    std::byte* data = nullptr;
    std::ptrdiff_t bytes = 0;
  };
  Run run(std::ptrdiff_t limit_bytes) const;
  bool next_direct(Call& call);
  /// Bytes before the direct middle of the run that begins here; -1 if it has none.
  std::ptrdiff_t bytes_to_direct() const;
  void advance(std::ptrdiff_t bytes);
  void skip_empty();

  std::span<const Segment> segments_;
  const std::byte* memory_;
  CallLimits limits_;
  std::size_t segment_ = 0;
  std::ptrdiff_t used_ = 0;  // of the segment
  std::vector<iovec> pieces_;
};

}  // namespace tailrace::file
