// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How fast this machine touches memory, all ranks at once: what a stage of a transform is compared
// with.

#include <algorithm>
#include <cstddef>

#include "move/copy_kinds.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/memory_rates.hpp"

namespace tailrace {

/// Ways of touching memory, each the same on all ranks.
class MemoryLoops {
 public:
  /// `bytes` of this rank: read, and as many written.
  explicit MemoryLoops(std::ptrdiff_t bytes)
      : row_bytes_(bytes / rows / unit_bytes * unit_bytes),
        from_(rows * row_bytes_),
        to_(rows * (row_bytes_ + unit_bytes)),  // rows an odd number of units apart, mostly
        panel_(rows * unit_bytes) {
    std::fill_n(from_.as<double>(), from_.bytes() / 8, 1.0);
    std::fill_n(panel_.as<double>(), panel_.bytes() / 8, 2.0);
  }

  /// Bytes that are written by a run of each, and read by a run of `copy`.
  std::ptrdiff_t bytes() const { return from_.bytes(); }
  /// Contiguous, past the caches.
  void copy() {
    loops().stream_rows({}, {}, bytes(), from_.data(), to_.data());
    fence();
  }
  /// Units of 128 bytes from a cache, one of each row at a time; into the caches.
  void scatter_ordinary() {
    for (std::ptrdiff_t unit = 0; unit < row_bytes_ / unit_bytes; ++unit) {
      for (std::ptrdiff_t row = 0; row < rows; ++row) {
        __builtin_memcpy(to_.data() + row * (row_bytes_ + unit_bytes) + unit * unit_bytes,
                         panel_.data() + row * unit_bytes, unit_bytes);
      }
    }
  }
  /// The same past the caches.
  void scatter_streaming() {
    loops().stream_rows({row_bytes_ / unit_bytes, 0, unit_bytes},
                        {rows, unit_bytes, row_bytes_ + unit_bytes}, unit_bytes, panel_.data(),
                        to_.data());
    fence();
  }
  /// A number that depends on what was written last.
  double check() const { return to_.as<double>()[to_.bytes() / 16]; }

 private:
  static constexpr std::ptrdiff_t rows = 256;
  static constexpr std::ptrdiff_t unit_bytes = 128;
  static const CopyLoops& loops() { return *copy_loops().front(); }
  static void fence() { fence_streamed(); }

  std::ptrdiff_t row_bytes_;
  Buffer from_, to_, panel_;
};

}  // namespace tailrace
