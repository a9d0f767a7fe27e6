// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "tailrace/error.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::store {

inline constexpr std::ptrdiff_t largest_item_bytes = 16;

inline constexpr ItemType all_types[] = {
    ItemType::float32, ItemType::float64, ItemType::int32,     ItemType::int64,
    ItemType::int8,    ItemType::int16,   ItemType::uint8,     ItemType::uint16,
    ItemType::uint32,  ItemType::uint64,  ItemType::complex64, ItemType::complex128};

/// The type's name, as NumPy has it.
std::string_view type_name(ItemType type);
/// The type called `name`, if there is one.
std::optional<ItemType> find_type(std::string_view name);

/// Calls `action` with std::type_identity<T>, T being the C++ type of `type`. Returns what it
/// returns.
template <class Action>
auto with_item_type(ItemType type, Action&& action) {
  switch (type) {
    case ItemType::float32:
      return action(std::type_identity<float>{});
    case ItemType::float64:
      return action(std::type_identity<double>{});
    case ItemType::int32:
      return action(std::type_identity<std::int32_t>{});
    case ItemType::int64:
      return action(std::type_identity<std::int64_t>{});
    case ItemType::int8:
      return action(std::type_identity<std::int8_t>{});
    case ItemType::int16:
      return action(std::type_identity<std::int16_t>{});
    case ItemType::uint8:
      return action(std::type_identity<std::uint8_t>{});
    case ItemType::uint16:
      return action(std::type_identity<std::uint16_t>{});
    case ItemType::uint32:
      return action(std::type_identity<std::uint32_t>{});
    case ItemType::uint64:
      return action(std::type_identity<std::uint64_t>{});
    case ItemType::complex64:
      return action(std::type_identity<std::complex<float>>{});
    case ItemType::complex128:
      return action(std::type_identity<std::complex<double>>{});
  }
  throw Error(Errc::internal, "unknown item type");
}

/// Whether items of a file may be read as another type: integers as anything, floating-point
/// numbers as each other and as complex ones, complex ones as each other.
bool convertible(ItemType from, ItemType to);

/// Converts `count` items that lie without gaps at `in` to `out` (another buffer); any type to any
/// other. The first value that does not fit, as text: one that `to` cannot hold exactly, where
/// rounding of a floating-point number to another precision is fine, but not that a finite one
/// becomes infinite. What follows it is not converted. Local.
std::optional<std::string> convert_items(ItemType from, ItemType to, const std::byte* in,
                                         std::ptrdiff_t count, std::byte* out);

}  // namespace tailrace::store
