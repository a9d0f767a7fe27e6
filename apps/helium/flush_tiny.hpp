// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace tailrace::helium {

/// While it lives, numbers below 1e-308 are 0 on this thread, in and out of every operation: in the
/// far tails of a wave they would cost a hundred times an operation each. Local.
class FlushTiny {
 public:
#if defined(__SSE2__)
  FlushTiny() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushTiny() { _mm_setcsr(before_); }
#else
  FlushTiny() = default;
#endif
  FlushTiny(const FlushTiny&) = delete;
  FlushTiny& operator=(const FlushTiny&) = delete;

 private:
  [[maybe_unused]] unsigned before_ = 0;
};

}  // namespace tailrace::helium
