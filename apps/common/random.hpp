// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace tailrace::app {

/// Philox4x32-10 (Salmon et al., SC 2011): four random 32-bit numbers of a counter and a key.
/// Without state: the same numbers for the same mode on any number of ranks, in any order.
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                           std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ k1,
               static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

/// Four independent normal numbers (mean 0, variance 1) of a counter and a key, by Box and Muller.
inline std::array<double, 4> normal_numbers(std::array<std::uint32_t, 4> counter,
                                            std::uint64_t key) {
  const auto bits = philox(counter, key);
  std::array<double, 4> out{};
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const double radius = std::sqrt(-2 * std::log((bits[pair] + 0.5) * 0x1p-32));
    const double angle = 2 * M_PI * (bits[pair + 1] + 0.5) * 0x1p-32;
    out[pair] = radius * std::cos(angle);
    out[pair + 1] = radius * std::sin(angle);
  }
  return out;
}

}  // namespace tailrace::app
