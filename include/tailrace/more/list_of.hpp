// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>

namespace tailrace {

/// A list argument: braces (`{64, 64, 64}`), an array, a vector or a span. It refers to the
/// caller's items, which must live until the call returns.
template <class T>
struct ListOf : std::span<const T> {
  ListOf(std::initializer_list<T> items) : std::span<const T>(items.begin(), items.size()) {}
  template <class Items>
  requires std::convertible_to<const Items&, std::span<const T>> ListOf(const Items& items)
      : std::span<const T>(items) {}
};

}  // namespace tailrace
