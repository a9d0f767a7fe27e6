// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace tailrace {

/// Payload memory: aligned to 64 bytes (to 2 MiB, with huge pages asked for, when it is large),
/// zeroed and so touched by the thread that makes it. Move-only.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::ptrdiff_t bytes) : bytes_(bytes) {
    if (bytes <= 0) return;
    constexpr std::ptrdiff_t huge_page = 2 << 20;
    const std::ptrdiff_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
    const std::ptrdiff_t rounded = (bytes + alignment - 1) / alignment * alignment;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(alignment),
                                                             static_cast<std::size_t>(rounded))));
    if (!memory_) throw std::bad_alloc();
    // A hint only: without huge pages everything works, with more TLB misses.
    if (alignment == huge_page) {
      madvise(memory_.get(), static_cast<std::size_t>(rounded), MADV_HUGEPAGE);
    }
    std::memset(memory_.get(), 0, static_cast<std::size_t>(rounded));
  }

  std::byte* data() const { return memory_.get(); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory_.get());
  }
  std::ptrdiff_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::ptrdiff_t bytes_ = 0;
};

}  // namespace tailrace
