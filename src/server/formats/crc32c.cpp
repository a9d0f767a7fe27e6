// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/crc32c.hpp"

#include <array>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace tailrace::server {
namespace {

#ifndef __SSE4_2__
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78U : 0U);
    table[i] = value;
  }
  return table;
}
constexpr auto table = make_table();
#endif

}  // namespace

std::uint32_t crc32c(const std::byte* data, std::ptrdiff_t bytes) {
  const std::byte* const end = data + bytes;
#ifdef __SSE4_2__
  std::uint64_t value = 0xffffffffU;
  for (; end - data >= 8; data += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, 8);
    value = _mm_crc32_u64(value, word);
  }
  auto rest = static_cast<std::uint32_t>(value);
  for (; data < end; ++data) rest = _mm_crc32_u8(rest, static_cast<std::uint8_t>(*data));
#else
  std::uint32_t rest = 0xffffffffU;
  for (; data < end; ++data) {
    rest = rest >> 8 ^ table[(rest ^ static_cast<std::uint32_t>(*data)) & 0xff];
  }
#endif
  return ~rest;
}

}  // namespace tailrace::server
