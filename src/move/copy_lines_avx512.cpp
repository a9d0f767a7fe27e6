// SPDX-License-Identifier: BSD-3-Clause
// Compiled for AVX-512, and called where the processor has it (copy_kinds.cpp).
#include <immintrin.h>

#include <cstddef>

namespace tailrace {
namespace {

struct Line {
  static void stream(std::byte* to, const std::byte* from) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
  }
};

}  // namespace
}  // namespace tailrace

#include "move/copy_lines.hpp"

namespace tailrace {

const CopyLoops copy_loops_avx512{"avx512", stream_rows, turn_plane<Streaming>,
                                  turn_plane<Fetched>};

}  // namespace tailrace
