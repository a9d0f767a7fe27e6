// SPDX-License-Identifier: BSD-3-Clause
// For any processor: SSE2 belongs to x86-64; elsewhere nothing is written past the caches.
#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tailrace {
namespace {

#if defined(__SSE2__)
constexpr const char* instructions = "sse2";
struct Line {
  static void stream(std::byte* to, const std::byte* from) {
    const auto* in = reinterpret_cast<const __m128i*>(from);
    auto* out = reinterpret_cast<__m128i*>(to);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(out + i, _mm_loadu_si128(in + i));
  }
};
#else
constexpr const char* instructions = "portable";
struct Line {
  static void stream(std::byte* to, const std::byte* from) { __builtin_memcpy(to, from, 64); }
};
#endif

}  // namespace
}  // namespace tailrace

#include "move/copy_lines.hpp"

namespace tailrace {

const CopyLoops copy_loops_portable{instructions, stream_rows, turn_plane<Streaming>,
                                    turn_plane<Fetched>};

}  // namespace tailrace
