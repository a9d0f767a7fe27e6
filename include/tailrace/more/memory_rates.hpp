// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Memory rates of this machine, in bytes per second and rank while all ranks are active: bytes
/// read and written by a copy, and bytes written by a scatter.
struct MemoryRates {
  double contiguous = 0, scattered_ordinary = 0, scattered_streaming = 0;

  /// The best of `repeats` + 1 interleaved runs of each over `bytes` of this rank. Collective,
  /// blocking.
  static MemoryRates measure(const Comm& comm, std::ptrdiff_t bytes, int repeats);
};

/// Copies `bytes` past the caches if the processor supports it. Local.
void copy_past_caches(const std::byte* from, std::byte* to, std::ptrdiff_t bytes);

}  // namespace tailrace
