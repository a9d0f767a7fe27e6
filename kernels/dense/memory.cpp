// SPDX-License-Identifier: BSD-3-Clause
#include "dense/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace tailrace::dense {

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t huge_page = std::size_t{1} << 21;

bool is_large(std::size_t bytes) { return bytes >= huge_page / 2; }

std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = is_large(bytes) ? huge_page : line;
  return std::max(unit, (bytes + unit - 1) / unit * unit);
}

struct Block {
  void* memory = nullptr;
  std::size_t bytes = 0;  ///< rounded
};

std::mutex guard;
std::array<Block, 3> kept;

/// A kept block of exactly `bytes`, which must be rounded; null: there is none.
void* take_kept(std::size_t bytes) {
  const std::lock_guard lock(guard);
  for (auto& block : kept) {
    if (block.bytes == bytes) return std::exchange(block, {}).memory;
  }
  return nullptr;
}

}  // namespace

void* take_memory(std::size_t bytes) {
  const bool large = is_large(bytes);
  const std::size_t needed = rounded(bytes);
  void* memory = large ? take_kept(needed) : nullptr;
  if (memory != nullptr) return memory;
  memory = std::aligned_alloc(large ? huge_page : line, needed);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (large) madvise(memory, needed, MADV_HUGEPAGE);  // a wish
#endif
  return memory;
}

void give_memory(void* memory, std::size_t bytes) {
  if (!is_large(bytes)) {
    std::free(memory);
    return;
  }
  Block block{memory, rounded(bytes)};
#ifdef MADV_FREE
  madvise(memory, block.bytes, MADV_FREE);  // the next who writes gets pages, old or new
  const std::lock_guard lock(guard);
  // The oldest block goes.
  std::swap(block, kept.back());
  std::rotate(kept.begin(), kept.end() - 1, kept.end());
#endif
  std::free(block.memory);
}

}  // namespace tailrace::dense
