// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/buffer.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "core/round_up.hpp"

namespace tailrace::detail {

std::byte* allocate_payload(std::ptrdiff_t bytes, bool zeroed) {
  constexpr std::ptrdiff_t huge_page = 2 << 20;
  const std::ptrdiff_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
  const auto rounded = static_cast<std::size_t>(round_up(bytes, alignment));
  void* const memory = std::aligned_alloc(static_cast<std::size_t>(alignment), rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // A hint only: without huge pages everything works, with more TLB misses.
  if (alignment == huge_page) madvise(memory, rounded, MADV_HUGEPAGE);
  if (zeroed) std::memset(memory, 0, rounded);
  return static_cast<std::byte*>(memory);
}

void free_payload(std::byte* memory) { std::free(memory); }

}  // namespace tailrace::detail
