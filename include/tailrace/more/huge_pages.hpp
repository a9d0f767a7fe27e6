// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace tailrace {

constexpr std::ptrdiff_t huge_page = 2 << 20;  ///< bytes

/// The first address at or after `memory` at which a huge page may begin. Local.
inline std::byte* first_huge_page(std::byte* memory) {
  const auto past = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(memory) %
                                                static_cast<std::uintptr_t>(huge_page));
  return past == 0 ? memory : memory + (huge_page - past);
}

/// Moves `bytes` of memory, all of which have been written before, to huge pages if the system
/// supports it (Linux 6.1 or later, independent of /sys/kernel/mm/transparent_hugepage, except
/// "deny" for shared memory). Other threads may use the memory meanwhile. If the system refuses,
/// the only effect is more TLB misses. Local.
inline void move_to_huge_pages(void* memory, std::ptrdiff_t bytes) {
  constexpr int collapse = 25;  // MADV_COLLAPSE: too new for many headers
  auto* const begin = static_cast<std::byte*>(memory);
  auto* const first = first_huge_page(begin);
  const auto pages = (begin + bytes - first) / huge_page;
  if (pages > 0) madvise(first, static_cast<std::size_t>(pages * huge_page), collapse);
}

}  // namespace tailrace
