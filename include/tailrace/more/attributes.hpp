// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tailrace/more/item_type.hpp"

namespace tailrace {

/// The value of an attribute: one item, or a list of items of one type. Items are numbers of any
/// `ItemType`, booleans or UTF-8 strings. Files keep the type, and distinguish a list of one item
/// from the item alone. A list may be empty. The default is the `std::int64_t` 0.
using AttributeValue =
    std::variant<std::int64_t, double, std::string, std::vector<double>,  //
                 std::int8_t, std::int16_t, std::int32_t, std::uint8_t, std::uint16_t,
                 std::uint32_t, std::uint64_t, float, std::complex<float>, std::complex<double>,
                 bool, std::vector<std::int8_t>, std::vector<std::int16_t>,
                 std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<std::uint8_t>,
                 std::vector<std::uint16_t>, std::vector<std::uint32_t>, std::vector<std::uint64_t>,
                 std::vector<float>, std::vector<std::complex<float>>,
                 std::vector<std::complex<double>>, std::vector<bool>, std::vector<std::string>,
                 Half, std::vector<Half>>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

namespace detail {
template <class T>
struct AttributeKind {
  using Item = T;
  static constexpr bool is_list = false;
};
template <class T>
struct AttributeKind<std::vector<T>> {
  using Item = T;
  static constexpr bool is_list = true;
};
}  // namespace detail

/// The item type of an alternative `T` of `AttributeValue`, e.g. `double` for a list of doubles.
template <class T>
using AttributeItem = typename detail::AttributeKind<std::remove_cvref_t<T>>::Item;
template <class T>
inline constexpr bool is_attribute_list = detail::AttributeKind<std::remove_cvref_t<T>>::is_list;

/// Whether `value` is a list. Local.
inline bool is_list(const AttributeValue& value) {
  return std::visit([](const auto& held) { return is_attribute_list<decltype(held)>; }, value);
}

/// Number of items in `value`: 1 if it is not a list. Local.
inline std::ptrdiff_t num_items(const AttributeValue& value) {
  return std::visit(
      [](const auto& held) -> std::ptrdiff_t {
        if constexpr (is_attribute_list<decltype(held)>) {
          return std::ssize(held);
        } else {
          return 1;
        }
      },
      value);
}

/// The type of the numbers in `value`; nothing for booleans and strings. Local.
inline std::optional<ItemType> type_of_numbers(const AttributeValue& value) {
  return std::visit(
      [](const auto& held) -> std::optional<ItemType> {
        using Item = AttributeItem<decltype(held)>;
        if constexpr (FileItem<Item>) {
          return item_type<Item>();
        } else {
          return std::nullopt;
        }
      },
      value);
}

/// Returns `value` with its items converted to `type`. Throws `Errc::invalid_input`, naming the
/// attribute `name` and `array`, if an item does not fit. Local.
AttributeValue converted(const std::string& array, const std::string& name,
                         const AttributeValue& value, ItemType type);

/// A small array that is identical on all ranks (coordinates, tables, strings); one rank writes it.
struct Coordinate {
  std::string name;  ///< name of a dimension, e.g. "x"; may be in a group, as in `Variable`
  std::vector<double> values = {};
  Attributes attributes = {};
  /// Numbers of another type, or strings, instead of `values`, which must then be empty. A list is
  /// stored as it is; a single number or string becomes a variable without a dimension.
  std::optional<AttributeValue> typed = {};
  /// The dimensions of a list. Empty: one dimension with the name of the coordinate.
  std::vector<std::string> dims = {};
  /// Items along each of `dims`; their product is the length of the list. Empty: one dimension.
  std::vector<std::ptrdiff_t> extents = {};
  /// Strings are single bytes, or empty for zero bytes (netCDF type char). Not in Zarr stores.
  bool characters = false;
};

/// The type of the values of `coordinate`. Throws `Errc::invalid_input`, naming the coordinate, if
/// it contains no numbers, or two lists. Local.
ItemType type_of(const Coordinate& coordinate);

}  // namespace tailrace
