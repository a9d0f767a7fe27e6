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
    ItemType::float32,   ItemType::float64,    ItemType::int32,  ItemType::int64,  ItemType::int8,
    ItemType::int16,     ItemType::uint8,      ItemType::uint16, ItemType::uint32, ItemType::uint64,
    ItemType::complex64, ItemType::complex128, ItemType::float16};

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
