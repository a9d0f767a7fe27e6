// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/byte_shuffle.hpp"

#include <array>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tailrace::server {
namespace {

// Items from `first` on, one by one.
void shuffle_rest(std::span<const std::byte> in, std::size_t item, std::size_t first,
                  std::byte* out) {
  const auto count = in.size() / item;
  for (std::size_t byte = 0; byte < item; ++byte) {
    const std::byte* from = in.data() + byte;
    std::byte* to = out + byte * count;
    for (std::size_t i = first; i < count; ++i) to[i] = from[i * item];
  }
}

#ifdef __SSE2__
struct Register {
  __m128i bytes;
};

// 16 items at a time are a matrix of 16 x `item` bytes. Interleaving the first half of its
// registers with the second half log2(16) times transposes it.
template <std::size_t item>
std::size_t shuffle_wide(std::span<const std::byte> in, std::byte* out) {
  const auto count = in.size() / item;
  std::size_t first = 0;
  for (; first + 16 <= count; first += 16) {
    std::array<Register, item> now;
    const auto* from = reinterpret_cast<const __m128i*>(in.data() + first * item);
    for (std::size_t r = 0; r < item; ++r) now[r].bytes = _mm_loadu_si128(from + r);
    for (int turn = 0; turn < 4; ++turn) {
      const auto before = now;
      for (std::size_t r = 0; r < item / 2; ++r) {
        const auto first_half = before[r].bytes, second_half = before[r + item / 2].bytes;
        now[2 * r].bytes = _mm_unpacklo_epi8(first_half, second_half);
        now[2 * r + 1].bytes = _mm_unpackhi_epi8(first_half, second_half);
      }
    }
    for (std::size_t r = 0; r < item; ++r) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + r * count + first), now[r].bytes);
    }
  }
  return first;
}
#endif

}  // namespace

void shuffle_bytes(std::span<const std::byte> in, std::size_t item, std::vector<std::byte>& out) {
  out.resize(in.size());
  std::size_t first = 0;
#ifdef __SSE2__
  if (item == 2) first = shuffle_wide<2>(in, out.data());
  if (item == 4) first = shuffle_wide<4>(in, out.data());
  if (item == 8) first = shuffle_wide<8>(in, out.data());
  if (item == 16) first = shuffle_wide<16>(in, out.data());
#endif
  shuffle_rest(in, item, first, out.data());
}

}  // namespace tailrace::server
