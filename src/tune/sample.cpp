// SPDX-License-Identifier: BSD-3-Clause
#include "tune/sample.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tailrace::tune {

std::ptrdiff_t beyond_caches() {
  const std::ptrdiff_t last = sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1: unknown; virtual: of all
  return std::clamp<std::ptrdiff_t>(last / 2 * 3, 16 << 20, 96 << 20);
}

void fill_sample(std::span<std::byte> memory, std::uint64_t seed) {
  auto state = seed;
  while (!memory.empty()) {  // a word at a time: byte by byte takes longer than what is measured
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto word = state ^ (state >> 32);
    const auto bytes = std::min(memory.size(), sizeof word);
    std::memcpy(memory.data(), &word, bytes);
    memory = memory.subspan(bytes);
  }
}

}  // namespace tailrace::tune
