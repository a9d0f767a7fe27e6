// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

namespace tailrace {

namespace detail {
/// Memory of `Buffer`, and its end; `bytes` > 0. `zeroed`: and touched. They are alone in
/// buffer.cpp: simulated machines replace that file by one that folds the memory of thousands of
/// ranks (bench/scale).
std::byte* allocate_payload(std::ptrdiff_t bytes, bool zeroed);
void free_payload(std::byte* memory);
}  // namespace detail

/// Payload memory: aligned to 64 bytes (to 2 MiB, with huge pages asked for, when it is large),
/// zeroed and so touched by the thread that makes it, unless that is not asked for. Move-only.
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
