// SPDX-License-Identifier: BSD-3-Clause
// Compiled for AVX2, and called where the processor has it (copy_kinds.cpp).
#include <immintrin.h>

#include <cstddef>

namespace tailrace {
namespace {

struct Line {
  static void stream(std::byte* to, const std::byte* from) {
    const auto* in = reinterpret_cast<const __m256i*>(from);
    auto* out = reinterpret_cast<__m256i*>(to);
    const auto low = _mm256_loadu_si256(in), high = _mm256_loadu_si256(in + 1);
    _mm256_stream_si256(out, low);
    _mm256_stream_si256(out + 1, high);
  }
};

}  // namespace
}  // namespace tailrace

#include "move/copy_lines.hpp"

namespace tailrace {

const CopyLoops copy_loops_avx2{"avx2", stream_rows, turn_plane<Streaming>, turn_plane<Fetched>};

}  // namespace tailrace
