// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "core/round_up.hpp"

namespace tailrace {

constexpr std::ptrdiff_t huge_page = 2 << 20;

/// Moves what lies in `bytes` of memory, all of it written before, to huge pages, where the system
/// does that when asked (Linux 6.1; whatever /sys/kernel/mm/transparent_hugepage says, but "deny"
/// of shared memory). Others may use the memory meanwhile. A wish: where it is not granted
/// everything works, with more TLB misses. Local.
inline void move_to_huge_pages(void* memory, std::ptrdiff_t bytes) {
  constexpr int collapse = 25;  // MADV_COLLAPSE: too new for many headers
  auto* const begin = static_cast<std::byte*>(memory);
  auto* const first = round_up(begin, huge_page);
  const auto pages = (begin + bytes - first) / huge_page;
  if (pages > 0) madvise(first, static_cast<std::size_t>(pages * huge_page), collapse);
}

}  // namespace tailrace
