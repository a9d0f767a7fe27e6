// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/item_convert.hpp"
#include "tailrace/more/attributes.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::store {

/// The bytes of an item of any type.
using ItemBytes = std::array<std::byte, largest_item_bytes>;

/// Any coordinate: numbers or texts, with its axes; refers to the coordinate.
struct CoordinateArray {
  std::optional<ItemType> type;  ///< of numbers; nothing: texts
  std::ptrdiff_t count = 0;
  const std::byte* data = nullptr;  ///< of numbers
  std::span<const std::string> texts = {};
  bool characters = false;                   ///< texts are single bytes
  std::vector<std::string> dims = {};        ///< none: one item without an axis
  std::vector<std::ptrdiff_t> extents = {};  ///< as many as `dims`
};
/// Throws `Errc::invalid_input` that names the coordinate if it cannot be an array of a file: truth
/// values, texts with zero bytes, two lists, axes that do not fit the list. Local.
CoordinateArray array_of(const Coordinate& coordinate);
/// The same; also throws if it holds no numbers, or lies along other axes than its own. Local.
CoordinateArray numbers_of(const Coordinate& coordinate);
/// Whether the coordinate lies along the axis that has its name. Local.
bool is_axis(const Coordinate& coordinate);

/// The values of a coordinate as numbers to compute with. Throws `Errc::invalid_input` if they are
/// complex or texts. Local.
std::vector<double> doubles_of(const Coordinate& coordinate);

/// The number that `value` is, or its only item; nothing for text, complex numbers and lists.
std::optional<double> number_of(const AttributeValue& value);

/// The name that netCDF gives to the value of items that nobody has written.
inline constexpr std::string_view fill_name = "_FillValue";

/// `_FillValue` of an array of `type`, as an item of this type; nothing if `attributes` has none.
/// Throws `Errc::invalid_input` that names `array` if it is no such item. Local.
std::optional<ItemBytes> fill_item(const std::string& array, const Attributes& attributes,
                                   ItemType type);

/// Puts `item`, of `bytes` bytes, into each item of `items`. Local.
void fill_items(std::span<std::byte> items, std::ptrdiff_t bytes, const ItemBytes& item);

/// `name` for an error message, which a zero byte would end.
std::string shown(const std::string& name);

/// Whether HDF5 and netCDF keep `name` for what they note about arrays.
bool is_reserved(std::string_view name);

/// Throws `Errc::invalid_input` for attributes of `of` that no file can hold: names that are empty,
/// given twice or HDF5's own, texts in lists that have zero bytes, `_FillValue` of another kind
/// than `type` (nothing: not of an array). Local.
void check_attributes(const std::string& of, const Attributes& attributes,
                      std::optional<ItemType> type);

/// A digest of what `attributes` hold, in whatever order. Local.
std::uint64_t digest_of(const Attributes& attributes);
/// A digest of a coordinate: name, values, attributes. Local.
std::uint64_t digest_of(const Coordinate& coordinate);

/// `value` in a few words, different for each value: "1.5 (float64)", "3 of int8 (digest 1f0c)".
std::string describe(const AttributeValue& value);

}  // namespace tailrace::store
