// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tailrace/output.hpp"

namespace tailrace::store {

std::string_view type_name(ItemType type);

/// Whether items of a file may be read as another type: floating-point numbers as each other,
/// integers as anything, floating-point numbers never as integers.
bool convertible(ItemType from, ItemType to);

/// Converts `count` items that lie without gaps at `in` to `out` (another buffer). The first value
/// that does not fit, as text: an integer that `to` cannot hold exactly, or a finite number that
/// would become infinite. What follows it is not converted. Local.
std::optional<std::string> convert_items(ItemType from, ItemType to, const std::byte* in,
                                         std::ptrdiff_t count, std::byte* out);

}  // namespace tailrace::store
