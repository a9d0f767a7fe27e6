// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tailrace::server {

/// The checksum of HDF5's filter "fletcher32": Fletcher's sums of words of 16 bits, the first byte
/// the high one. Local.
inline std::uint32_t fletcher32(std::span<const std::byte> bytes) {
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

/// Appends it, little-endian, as the filter does. Local.
inline void append_fletcher32(std::vector<std::byte>& bytes) {
  const auto sum = fletcher32(bytes);
  for (int byte = 0; byte < 4; ++byte) bytes.push_back(static_cast<std::byte>(sum >> (8 * byte)));
}

}  // namespace tailrace::server
