// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "tailrace/comm.hpp"

namespace tailrace {

/// How fast this machine touches memory, in bytes a second of one rank while all are at work: read
/// and written by a copy, written by a scatter.
struct MemoryRates {
  double contiguous = 0, scattered_ordinary = 0, scattered_streaming = 0;

  /// The best of `repeats` + 1 interleaved runs of each over `bytes` of this rank. Collective,
  /// blocking.
  static MemoryRates measure(const Comm& comm, std::ptrdiff_t bytes, int repeats);
};

/// Copies `bytes` past the caches, where the processor can. Local.
void copy_past_caches(const std::byte* from, std::byte* to, std::ptrdiff_t bytes);

}  // namespace tailrace
