// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace tailrace {

/// A fixed run of bytes of our own, aligned to cache lines; its contents start undefined.
class AlignedBytes {
 public:
  static constexpr std::ptrdiff_t alignment = 64;

  AlignedBytes() = default;
  explicit AlignedBytes(std::ptrdiff_t num_bytes)
      : data_(num_bytes == 0 ? nullptr
                             : static_cast<std::byte*>(::operator new(
                                   static_cast<std::size_t>(num_bytes), std::align_val_t{alignment}))),
        size_(num_bytes) {}

  std::byte* data() const { return data_.get(); }
  std::ptrdiff_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t{alignment}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::ptrdiff_t size_ = 0;
};

}  // namespace tailrace
