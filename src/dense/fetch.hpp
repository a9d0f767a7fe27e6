// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tailrace::dense {

/// Asks for the cache line at `address`, which need not exist; without waiting.
inline void fetch(const void* address) {
#ifdef __GNUC__
  __builtin_prefetch(address);
#endif
}

}  // namespace tailrace::dense
