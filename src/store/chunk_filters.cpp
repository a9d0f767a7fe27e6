// SPDX-License-Identifier: BSD-3-Clause
#include "store/chunk_filters.hpp"

#include <algorithm>
#include <array>
#include <memory>

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef TAILRACE_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef TAILRACE_HAVE_LIBDEFLATE
#include <libdeflate.h>
#elif defined(TAILRACE_HAVE_ZLIB)
#include <zlib.h>
#endif

namespace tailrace::store {
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
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(count * item), in.end(), out + count * item);
}

void unshuffle_rest(std::span<const std::byte> in, std::size_t item, std::size_t first,
                    std::byte* out) {
  const auto count = in.size() / item;
  for (std::size_t byte = 0; byte < item; ++byte) {
    const std::byte* from = in.data() + byte * count;
    std::byte* to = out + byte;
    for (std::size_t i = first; i < count; ++i) to[i * item] = from[i];
  }
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(count * item), in.end(), out + count * item);
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

// Interleaving the registers of neighbouring bytes log2(item) times puts the bytes of each item
// together again.
template <std::size_t item>
std::size_t unshuffle_wide(std::span<const std::byte> in, std::byte* out) {
  const auto count = in.size() / item;
  std::size_t first = 0;
  for (; first + 16 <= count; first += 16) {
    std::array<Register, item> now;
    for (std::size_t r = 0; r < item; ++r) {
      now[r].bytes =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(in.data() + r * count + first));
    }
    for (std::size_t step = 1; step < item; step *= 2) {
      const auto before = now;
      for (std::size_t r = 0; r < item / 2; ++r) {
        const auto first_half = before[r].bytes, second_half = before[r + item / 2].bytes;
        now[2 * r].bytes = _mm_unpacklo_epi8(first_half, second_half);
        now[2 * r + 1].bytes = _mm_unpackhi_epi8(first_half, second_half);
      }
    }
    auto* to = reinterpret_cast<__m128i*>(out + first * item);
    for (std::size_t r = 0; r < item; ++r) _mm_storeu_si128(to + r, now[r].bytes);
  }
  return first;
}
#endif

}  // namespace

void shuffle_bytes(std::span<const std::byte> in, std::size_t item, std::byte* out) {
  std::size_t first = 0;
#ifdef __SSE2__
  if (item == 2) first = shuffle_wide<2>(in, out);
  if (item == 4) first = shuffle_wide<4>(in, out);
  if (item == 8) first = shuffle_wide<8>(in, out);
  if (item == 16) first = shuffle_wide<16>(in, out);
#endif
  shuffle_rest(in, item, first, out);
}

void unshuffle_bytes(std::span<const std::byte> in, std::size_t item, std::byte* out) {
  std::size_t first = 0;
#ifdef __SSE2__
  if (item == 2) first = unshuffle_wide<2>(in, out);
  if (item == 4) first = unshuffle_wide<4>(in, out);
  if (item == 8) first = unshuffle_wide<8>(in, out);
  if (item == 16) first = unshuffle_wide<16>(in, out);
#endif
  unshuffle_rest(in, item, first, out);
}

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t most_words = 360;  // before a sum could overflow
  std::uint32_t one = 0, two = 0;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  const auto byte = [&](std::size_t at) { return std::to_integer<std::uint32_t>(bytes[at]); };
  const auto words = bytes.size() / 2;
  for (std::size_t word = 0; word < words;) {
    for (const auto end = std::min(words, word + most_words); word < end; ++word) {
      one += byte(2 * word) << 8 | byte(2 * word + 1);
      two += one;
    }
    one = fold(one);
    two = fold(two);
  }
  if (bytes.size() % 2 != 0) {
    one += byte(bytes.size() - 1) << 8;
    two += one;
    one = fold(one);
    two = fold(two);
  }
  return fold(two) << 16 | fold(one);
}

void append_fletcher32(RawBytes& bytes) {
  const auto sum = fletcher32(bytes);
  for (int byte = 0; byte < 4; ++byte) bytes.push_back(static_cast<std::byte>(sum >> (8 * byte)));
}

bool has_fletcher32(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return false;
  const auto sum = fletcher32(bytes.first(bytes.size() - 4));
  const auto byte = [&](std::size_t at) {
    return std::to_integer<std::uint32_t>(bytes[bytes.size() - 4 + at]);
  };
  const auto stored = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
  const auto swapped = byte(1) | byte(0) << 8 | byte(3) << 16 | byte(2) << 24;
  return sum == stored || sum == swapped;
}

bool can_decompress(int filter) {
#ifdef TAILRACE_HAVE_ZSTD
  if (filter == zstd_filter) return true;
#endif
#if defined(TAILRACE_HAVE_LIBDEFLATE) || defined(TAILRACE_HAVE_ZLIB)
  if (filter == deflate_filter) return true;
#endif
  return false;
}

bool decompress([[maybe_unused]] int filter, [[maybe_unused]] std::span<const std::byte> in,
                [[maybe_unused]] std::span<std::byte> out) {
#ifdef TAILRACE_HAVE_ZSTD
  if (filter == zstd_filter) {
    return ZSTD_decompress(out.data(), out.size(), in.data(), in.size()) == out.size();
  }
#endif
#ifdef TAILRACE_HAVE_LIBDEFLATE
  using Decompressor = std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)>;
  thread_local const Decompressor inflate(libdeflate_alloc_decompressor(),
                                          libdeflate_free_decompressor);
  return inflate && libdeflate_zlib_decompress(inflate.get(), in.data(), in.size(), out.data(),
                                               out.size(), nullptr) == LIBDEFLATE_SUCCESS;
#elif defined(TAILRACE_HAVE_ZLIB)
  auto bytes = static_cast<uLongf>(out.size());
  return uncompress(reinterpret_cast<Bytef*>(out.data()), &bytes,
                    reinterpret_cast<const Bytef*>(in.data()),
                    static_cast<uLong>(in.size())) == Z_OK &&
         bytes == out.size();
#else
  return false;
#endif
}

}  // namespace tailrace::store
