// SPDX-License-Identifier: BSD-3-Clause
// https://zarr-specs.readthedocs.io/en/latest/v3/core/
#include "server/formats/zarr_json.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/refuse_input.hpp"

namespace tailrace::server {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  try {
    return json.dump();
  } catch (const Json::exception&) {
    refuse_input("a name or a text of a Zarr store is not UTF-8, as JSON requires: {}",
                 json.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
}

Json json_of(const Index& extents, int num_dims) {
  return std::vector(extents.begin(), extents.begin() + num_dims);
}

/// "NaN", "Infinity" and "-Infinity" as Zarr has them, or a number.
Json json_of_real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

/// An item of an array, whose floating-point numbers `real` gives.
Json json_of_item(ItemType type, const store::ItemBytes& item, const auto& real) {
  return with_item_type(type, [&]<class Item>(std::type_identity<Item>) -> Json {
    Item value{};
    std::memcpy(&value, item.data(), sizeof(Item));
    if constexpr (ComplexItem<Item>) {
      return Json::array({real(value.real()), real(value.imag())});
    } else if constexpr (FloatItem<Item>) {
      return real(value);
    } else {
      return value;
    }
  });
}

/// The 8 bytes of a number in base 64 (RFC 4648), lowest first.
std::string base64_of(double value) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::string text;
  for (int at = 0; at < 9; at += 3) {
    std::uint32_t three = 0;
    for (int i = at; i < at + 3; ++i) {
      const auto byte = i < 8 ? static_cast<std::uint32_t>(bits >> (8 * i) & 0xff) : 0U;
      three = three << 8 | byte;
    }
    for (int i = 0; i < 4; ++i) text += letters[three >> (18 - 6 * i) & 63];
  }
  text.back() = '=';  // the ninth byte is not there
  return text;
}

/// JSON has no word for these numbers; zarr-python and xarray write and read Python's.
std::string text_of_item(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return Json(value).dump();
}

template <class Item>
std::string text_of_item(const Item& value) {
  if constexpr (FloatItem<Item>) {
    return text_of_item(static_cast<double>(value));
  } else {
    return text_of(Json(value));
  }
}

template <class Value>
std::string text_of_value(const std::string& of, const std::string& name, const Value& value) {
  using Item = AttributeItem<Value>;
  if constexpr (ComplexItem<Item>) {
    refuse_input(
        "{}: attribute {}: is complex, and the attributes of a Zarr store are JSON, "
        "which has no complex numbers; give the real and imaginary parts",
        of, name);
  } else if constexpr (is_attribute_list<Value>) {
    std::string list;
    for (auto&& item : value) {
      if (!list.empty()) list += ',';
      list += text_of_item<Item>(item);
    }
    return fmt::format("[{}]", list);
  } else {
    return text_of_item(value);
  }
}

/// `type`: of the array that has them, or nothing.
std::string text_of(const std::string& of, const Attributes& attributes,
                    std::optional<ItemType> type) {
  std::string all;
  for (const auto& [name, value] : attributes) {
    if (!all.empty()) all += ",";
    all += text_of(Json(name)) + ":";
    if (type && name == store::fill_name) {
      // As xarray keeps it: floating-point numbers as texts, which JSON does not round.
      all += text_of(json_of_item(*type, *store::fill_item(of, attributes, *type), base64_of));
    } else {
      all += std::visit([&, &key = name](const auto& held) { return text_of_value(of, key, held); },
                        value);
    }
  }
  return fmt::format("{{{}}}", all);
}

/// `json`, an object, with one more entry, which is JSON or what Python takes for it.
std::string with_entry(const Json& json, const char* name, const std::string& value) {
  auto text = text_of(json);
  text.pop_back();
  return fmt::format("{},\"{}\":{}}}", text, name, value);
}

}  // namespace

std::string array_json(const ZarrArray& array) {
  const auto& grid = array.grid;
  auto codecs = Json::parse(array.codecs);
  if (grid.has_shards()) {
    const Json sharding{{"name", "sharding_indexed"},
                        {"configuration",
                         {{"chunk_shape", json_of(grid.chunk, grid.num_dims)},
                          {"codecs", codecs},
                          {"index_codecs", Json::parse(index_codecs)},
                          {"index_location", "end"}}}};
    codecs = Json::array();
    codecs.push_back(sharding);
  }
  const Json json{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", json_of(grid.extents, grid.num_dims)},
      {"data_type", type_name(array.type)},
      {"chunk_grid",
       {{"name", "regular"},
        {"configuration", {{"chunk_shape", json_of(grid.shard, grid.num_dims)}}}}},
      {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "/"}}}}},
      {"fill_value", json_of_item(array.type, array.fill, json_of_real)},
      {"codecs", codecs},
      {"dimension_names", array.dims}};
  return with_entry(json, "attributes", text_of(array.name, array.attributes, array.type));
}

// As zarr-python 3 has it: texts of any length, by the codec vlen-utf8.
std::string array_json(const ZarrTexts& array) {
  auto chunk = array.extents;
  for (auto& extent : chunk) extent = std::max<std::ptrdiff_t>(extent, 1);
  const Json json{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", array.extents},
      {"data_type", "string"},
      {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", chunk}}}}},
      {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "/"}}}}},
      {"fill_value", ""},
      {"codecs", Json::array({{{"name", "vlen-utf8"}, {"configuration", Json::object()}}})},
      {"dimension_names", array.dims}};
  return with_entry(json, "attributes", text_of(array.name, array.attributes, std::nullopt));
}

std::string group_json(const std::string& name, const Attributes& attributes,
                       const std::vector<std::pair<std::string, std::string>>& arrays) {
  std::string metadata;
  for (const auto& [array, text] : arrays) {
    metadata += fmt::format("{}{}:{}", metadata.empty() ? "" : ",", text_of(Json(array)), text);
  }
  const auto consolidated = with_entry(Json{{"kind", "inline"}, {"must_understand", false}},
                                       "metadata", "{" + metadata + "}");
  auto text = with_entry(Json{{"zarr_format", 3}, {"node_type", "group"}}, "attributes",
                         text_of(name, attributes, std::nullopt));
  text.pop_back();
  return fmt::format("{},\"consolidated_metadata\":{}}}", text, consolidated);
}

}  // namespace tailrace::server
