// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new of the program that includes it (once) by one that counts. malloc of C
// libraries, MPI among them, is not seen.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace tailrace::counted_new {

inline std::atomic<std::ptrdiff_t> allocations{0};
inline std::atomic<std::ptrdiff_t> bytes{0};
inline std::atomic<std::ptrdiff_t> largest{0};

inline void reset() { allocations = bytes = largest = 0; }

inline void* allocate(std::size_t size, std::size_t alignment) {
  const auto wanted = static_cast<std::ptrdiff_t>(size);
  ++allocations;
  bytes += wanted;
  auto seen = largest.load();
  while (seen < wanted && !largest.compare_exchange_weak(seen, wanted)) {
  }
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

/// Not inlined: GCC would see free() of what `new` gave, and warn.
[[gnu::noinline]] inline void release(void* memory) { std::free(memory); }

}  // namespace tailrace::counted_new

void* operator new(std::size_t size) { return tailrace::counted_new::allocate(size, 16); }
void* operator new[](std::size_t size) { return tailrace::counted_new::allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return tailrace::counted_new::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return tailrace::counted_new::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { tailrace::counted_new::release(memory); }
void operator delete[](void* memory) noexcept { tailrace::counted_new::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { tailrace::counted_new::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept {
  tailrace::counted_new::release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  tailrace::counted_new::release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  tailrace::counted_new::release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  tailrace::counted_new::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  tailrace::counted_new::release(memory);
}
