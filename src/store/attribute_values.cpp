// SPDX-License-Identifier: BSD-3-Clause
#include "store/attribute_values.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "core/bytes.hpp"
#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "tailrace/box.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace {
namespace store {
namespace {

/// The numbers of `value`, one after another; empty for truth values and texts.
template <class Action>
void with_numbers(const AttributeValue& value, Action&& action) {
  std::visit(
      [&](const auto& held) {
        using Item = AttributeItem<decltype(held)>;
        if constexpr (FileItem<Item> && is_attribute_list<decltype(held)>) {
          action(item_type<Item>(), reinterpret_cast<const std::byte*>(held.data()),
                 std::ssize(held));
        } else if constexpr (FileItem<Item>) {
          action(item_type<Item>(), reinterpret_cast<const std::byte*>(&held), std::ptrdiff_t{1});
        }
      },
      value);
}

/// What HDF5 and netCDF keep about an array in attributes of these names.
constexpr std::array<std::string_view, 9> reserved_names{
    "CLASS",         "NAME",          "REFERENCE_LIST",      "DIMENSION_LIST", "DIMENSION_LABELS",
    "_Netcdf4Dimid", "_NCProperties", "_Netcdf4Coordinates", "_nc3_strict"};

}  // namespace

std::string shown(const std::string& name) {
  std::string text;
  for (const char letter : name)
    text += letter == '\0' ? std::string("\\0") : std::string(1, letter);
  return text;
}

bool is_reserved(std::string_view name) {
  return std::ranges::find(reserved_names, name) != reserved_names.end();
}

bool is_axis(const Coordinate& coordinate) {
  if (!coordinate.dims.empty()) {
    return coordinate.dims.size() == 1 && coordinate.dims.front() == coordinate.name;
  }
  return !coordinate.typed || is_list(*coordinate.typed);
}

namespace {

/// Numbers, or texts, and how many.
CoordinateArray items_of(const Coordinate& coordinate) {
  CoordinateArray array;
  const auto* text = coordinate.typed ? std::get_if<std::string>(&*coordinate.typed) : nullptr;
  const auto* texts =
      coordinate.typed ? std::get_if<std::vector<std::string>>(&*coordinate.typed) : nullptr;
  if (text != nullptr) array.texts = {text, 1};
  if (texts != nullptr) array.texts = *texts;
  array.count = std::ssize(array.texts);
  if (text != nullptr || texts != nullptr) {
    array.characters = coordinate.characters;
    for (const auto& one : array.texts) {
      if (coordinate.characters && one.size() <= 1) continue;
      if (coordinate.characters) {
        refuse_input("coordinate {}: \"{}\" is not a single byte", coordinate.name, shown(one));
      }
      if (one.find('\0') == std::string::npos) continue;
      refuse_input("coordinate {}: a text has a zero byte, where HDF5 would end it",
                   coordinate.name);
    }
    return array;
  }
  if (!coordinate.typed) {
    array.type = ItemType::float64;
    array.count = std::ssize(coordinate.values);
    array.data = reinterpret_cast<const std::byte*>(coordinate.values.data());
    return array;
  }
  with_numbers(*coordinate.typed, [&](ItemType type, const std::byte* data, std::ptrdiff_t count) {
    array.type = type;
    array.count = count;
    array.data = data;
  });
  if (!array.type) {
    refuse_input("coordinate {} holds booleans; it needs numbers or strings", coordinate.name);
  }
  return array;
}

}  // namespace

CoordinateArray array_of(const Coordinate& coordinate) {
  if (coordinate.typed && !coordinate.values.empty()) {
    refuse_input("coordinate {} has both `values` and `typed`; give one of them", coordinate.name);
  }
  auto array = items_of(coordinate);
  const bool list = !coordinate.typed || is_list(*coordinate.typed);
  if (coordinate.dims.empty()) {
    if (!coordinate.extents.empty()) {
      refuse_input("coordinate {} has extents, but no names of its axes", coordinate.name);
    }
    if (list) array.dims = {coordinate.name};
    if (list) array.extents = {array.count};
    return array;
  }
  array.dims = coordinate.dims;
  array.extents = coordinate.extents;
  if (array.extents.empty() && array.dims.size() == 1) array.extents = {array.count};
  std::ptrdiff_t items = 1;
  for (const auto extent : array.extents) items *= extent;
  if (!list || array.extents.size() != array.dims.size() || items != array.count ||
      array.dims.size() > max_dims ||
      std::ranges::any_of(array.extents, [](auto extent) { return extent < 0; })) {
    refuse_input("coordinate {}: {} items do not lie along the axes {} of {} items",
                 coordinate.name, array.count, per_axis(array.dims),
                 per_axis(array.extents, " x "));
  }
  return array;
}

CoordinateArray numbers_of(const Coordinate& coordinate) {
  if (!coordinate.dims.empty() && !is_axis(coordinate)) {
    refuse_input("coordinate {} lies along other axes ({}); here it needs its own", coordinate.name,
                 per_axis(coordinate.dims));
  }
  auto array = array_of(coordinate);
  if (!array.type) {
    refuse_input("coordinate {} holds strings or booleans; it needs numbers", coordinate.name);
  }
  return array;
}

std::vector<double> doubles_of(const Coordinate& coordinate) {
  const auto numbers = numbers_of(coordinate);
  std::vector<double> values(static_cast<std::size_t>(numbers.count));
  with_item_type(*numbers.type, [&]<class Item>(std::type_identity<Item>) {
    const auto* items = reinterpret_cast<const Item*>(numbers.data);
    if constexpr (ComplexItem<Item>) {
      refuse_input("coordinate {} is complex; real numbers are needed here", coordinate.name);
    } else {
      std::transform(items, items + numbers.count, values.begin(),
                     [](Item item) { return static_cast<double>(item); });
    }
  });
  return values;
}

std::optional<double> number_of(const AttributeValue& value) {
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        using Item = AttributeItem<decltype(held)>;
        if constexpr (!RealItem<Item>) {
          return std::nullopt;
        } else if constexpr (is_attribute_list<decltype(held)>) {
          if (held.size() == 1) return static_cast<double>(held.front());
          return std::nullopt;
        } else {
          return static_cast<double>(held);
        }
      },
      value);
}

}  // namespace store

AttributeValue converted(const std::string& array, const std::string& name,
                         const AttributeValue& value, ItemType type) {
  if (type_of_numbers(value) == type) return value;
  std::optional<AttributeValue> made;
  store::with_numbers(value, [&](ItemType from, const std::byte* data, std::ptrdiff_t count) {
    with_item_type(type, [&]<class Item>(std::type_identity<Item>) {
      std::vector<Item> items(static_cast<std::size_t>(count));
      const auto misfit =
          store::convert_items(from, type, data, count, reinterpret_cast<std::byte*>(items.data()));
      if (misfit) {
        refuse_input("{}: attribute {}: {} does not fit {}, the type of the array", array, name,
                     *misfit, type_name(type));
      }
      if (is_list(value)) {
        made = std::move(items);
      } else {
        made = items.front();
      }
    });
  });
  if (!made) {
    refuse_input("{}: attribute {}: needs a number of type {}, which is the type of the array",
                 array, name, type_name(type));
  }
  return *std::move(made);
}

ItemType type_of(const Coordinate& coordinate) {
  const auto array = store::array_of(coordinate);
  if (!array.type) refuse_input("coordinate {} holds strings; it needs numbers", coordinate.name);
  return *array.type;
}

namespace store {

std::optional<ItemBytes> fill_item(const std::string& array, const Attributes& attributes,
                                   ItemType type) {
  for (const auto& [name, value] : attributes) {
    if (name != fill_name) continue;
    if (num_items(value) != 1) {
      refuse_input("{}: attribute {}: needs one number, not {}", array, name, num_items(value));
    }
    ItemBytes item{};
    with_numbers(converted(array, name, value, type),
                 [&](ItemType, const std::byte* data, std::ptrdiff_t) {
                   std::copy_n(data, item_bytes(type), item.begin());
                 });
    return item;
  }
  return std::nullopt;
}

void fill_items(std::span<std::byte> items, std::ptrdiff_t bytes, const ItemBytes& item) {
  if (std::ranges::all_of(item, [](std::byte byte) { return byte == std::byte{0}; })) {
    std::ranges::fill(items, std::byte{0});
    return;
  }
  // What has been filled is copied behind itself, so that long copies fill the most.
  auto filled = static_cast<std::size_t>(bytes);
  if (items.size() < filled) return;
  std::copy_n(item.begin(), filled, items.begin());
  for (; filled < items.size(); filled *= 2) {
    std::memcpy(items.data() + filled, items.data(), std::min(filled, items.size() - filled));
  }
}

void check_attributes(const std::string& of, const Attributes& attributes,
                      std::optional<ItemType> type) {
  std::set<std::string_view> names;
  for (const auto& [name, value] : attributes) {
    if (name.empty() || name.find('\0') != std::string::npos) {
      refuse_input("{}: \"{}\" cannot name an attribute: it is empty or has a zero byte", of,
                   shown(name));
    }
    if (is_reserved(name)) {
      refuse_input("{}: attribute {}: this name is reserved by HDF5 and netCDF", of, name);
    }
    if (!names.insert(name).second) refuse_input("{}: two attributes are named {}", of, name);
    const auto* texts = std::get_if<std::vector<std::string>>(&value);
    if (texts == nullptr) continue;
    for (const auto& text : *texts) {
      if (text.find('\0') == std::string::npos) continue;
      refuse_input("{}: attribute {}: a text of a list has a zero byte, where HDF5 would end it",
                   of, name);
    }
  }
  if (type) fill_item(of, attributes, *type);
}

namespace {

std::uint64_t digest_of_bytes(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

template <class T>
std::span<const std::byte> bytes_of_numbers(const T& held) {
  if constexpr (is_attribute_list<T>) {
    return std::as_bytes(std::span(held));
  } else {
    return std::as_bytes(std::span(&held, 1));
  }
}

// Numbers are not copied: there may be many.
std::uint64_t digest_of(const AttributeValue& value) {
  return std::visit(
      [&](const auto& held) {
        if constexpr (FileItem<AttributeItem<decltype(held)>>) {
          return add_to_digest(value.index(), digest_of_bytes(bytes_of_numbers(held)));
        } else {
          return digest_of_bytes(bytes_from(value));
        }
      },
      value);
}

}  // namespace

std::uint64_t digest_of(const Attributes& attributes) {
  std::uint64_t digest = attributes.size();
  for (const auto& [name, value] : attributes) {
    digest += add_to_digest(std::hash<std::string>{}(name), digest_of(value));
  }
  return digest;
}

std::uint64_t digest_of(const Coordinate& coordinate) {
  auto digest = std::hash<std::string>{}(coordinate.name);
  digest = add_to_digest(digest, digest_of_bytes(std::as_bytes(std::span(coordinate.values))));
  digest = add_to_digest(digest, coordinate.typed ? digest_of(*coordinate.typed) : 0);
  for (const auto& dim : coordinate.dims) {
    digest = add_to_digest(digest, std::hash<std::string>{}(dim));
  }
  digest = add_to_digest(digest, digest_of_bytes(std::as_bytes(std::span(coordinate.extents))));
  digest = add_to_digest(digest, coordinate.characters ? 1 : 0);
  return add_to_digest(digest, digest_of(coordinate.attributes));
}

std::string describe(const AttributeValue& value) {
  constexpr std::size_t most_text = 60;
  const auto type = type_of_numbers(value);
  const auto kind = type ? std::string(type_name(*type)) : "";
  const auto digest = fmt::format("digest {:04x}", digest_of(value) & 0xffff);
  return std::visit(
      [&](const auto& held) -> std::string {
        using Item = AttributeItem<decltype(held)>;
        if constexpr (is_attribute_list<decltype(held)>) {
          return fmt::format("{} of {} ({})", held.size(), type ? kind : "text or bool", digest);
        } else if constexpr (std::is_same_v<Item, std::string>) {
          if (held.size() <= most_text) return fmt::format("\"{}\"", held);
          return fmt::format("\"{}...\" ({})", held.substr(0, most_text), digest);
        } else if constexpr (std::is_same_v<Item, bool>) {
          return held ? "true" : "false";
        } else if constexpr (ComplexItem<Item>) {
          return fmt::format("{}{:+}i ({})", held.real(), held.imag(), kind);
        } else {
          if constexpr (std::is_same_v<Item, Half>) {
            return fmt::format("{} ({}, bits {:04x})", static_cast<float>(held), kind, held.bits);
          } else {
            if (held != held) return fmt::format("{} ({}, {})", held, kind, digest);
            return fmt::format("{} ({})", held, kind);
          }
        }
      },
      value);
}

}  // namespace store
}  // namespace tailrace
