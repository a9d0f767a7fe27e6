// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tailrace {

/// Leaves items uninitialised that are made without a value.
template <class T>
struct UninitializedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UninitializedAllocator<U>;
  };
  template <class U, class... Values>
  void construct(U* place, Values&&... values) {
    if constexpr (sizeof...(Values) == 0) {
      ::new (static_cast<void*>(place)) U;
    } else {
      ::new (static_cast<void*>(place)) U(std::forward<Values>(values)...);
    }
  }
};

/// Bytes that will be written before they are read: growing does not set them to zero.
using RawBytes = std::vector<std::byte, UninitializedAllocator<std::byte>>;

}  // namespace tailrace
