// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

namespace tailrace {

namespace detail {
/// Allocates and frees the memory of a `Buffer`; `bytes` > 0; `zeroed` also touches the pages.
/// buffer.cpp contains only these two functions: simulated machines replace that file by one that
/// shares the memory of thousands of ranks (bench/scale).
std::byte* allocate_payload(std::ptrdiff_t bytes, bool zeroed);
void free_payload(std::byte* memory);
}  // namespace detail

/// Memory for payload data, aligned to 64 bytes (large buffers: to 2 MiB, with huge pages
/// requested). By default it is zeroed, so that the creating thread touches it first. Move-only.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::ptrdiff_t bytes, bool zeroed = true) : bytes_(bytes) {
    if (bytes > 0) memory_.reset(detail::allocate_payload(bytes, zeroed));
  }

  std::byte* data() const { return memory_.get(); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory_.get());
  }
  std::ptrdiff_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { detail::free_payload(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::ptrdiff_t bytes_ = 0;
};

}  // namespace tailrace
