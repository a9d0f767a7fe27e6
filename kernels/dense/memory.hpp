// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

namespace tailrace::dense {

/// `bytes` that are not set, at a multiple of a cache line; if they are many, in huge pages where
/// the system has some: kernels go through many columns at once, each of them on another page.
/// Throws std::bad_alloc.
void* take_memory(std::size_t bytes);
/// Gives back what take_memory gave. Three large blocks are kept for later calls, since new pages
/// may cost a third of a solve; the system may take their pages meanwhile if it is short of memory.
void give_memory(void* memory, std::size_t bytes);

struct GiveMemory {
  std::size_t bytes = 0;
  void operator()(void* memory) const { give_memory(memory, bytes); }
};

/// Items of a type without constructor.
template <class T>
using Array = std::unique_ptr<T[], GiveMemory>;

template <class T>
Array<T> make_array(std::size_t items) {
  const std::size_t bytes = items * sizeof(T);
  return Array<T>(static_cast<T*>(take_memory(bytes)), GiveMemory{bytes});
}

}  // namespace tailrace::dense
