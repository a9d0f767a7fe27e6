// SPDX-License-Identifier: BSD-3-Clause
// https://zarr-specs.readthedocs.io/en/latest/v3/core/
#include "server/formats/zarr_json.hpp"

#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/item_convert.hpp"

namespace tailrace::server {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    if (static_cast<unsigned char>(letter) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      out += letter;
    }
  }
  return out + '"';
}

std::string value_json(std::int64_t value) { return fmt::format("{}", value); }
std::string value_json(const std::string& value) { return quoted(value); }
// As Zarr has it: JSON knows no infinities.
std::string value_json(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return fmt::format("{:#}", value);
}
std::string value_json(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(value_json(value));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string attributes_json(const Attributes& attributes) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : attributes) {
    const auto text = std::visit([](const auto& v) { return value_json(v); }, value);
    texts.push_back(quoted(name) + ": " + text);
  }
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

std::string shape_json(const Index& extents, int num_dims) {
  return fmt::format(
      "[{}]", fmt::join(std::span(extents.data(), static_cast<std::size_t>(num_dims)), ", "));
}

std::string zero_json(ItemType type) {
  const auto name = store::type_name(type);
  return name.starts_with("complex") ? "[0.0, 0.0]" : name.starts_with("float") ? "0.0" : "0";
}

}  // namespace

std::string array_json(const ZarrArray& array) {
  const auto& grid = array.grid;
  std::vector<std::string> names;
  for (const auto& name : array.dims) names.push_back(quoted(name));
  auto codecs = array.codecs;
  if (grid.has_shards()) {
    codecs = fmt::format(
        R"([{{"name": "sharding_indexed", "configuration": {{"chunk_shape": {}, "codecs": {}, )"
        R"("index_codecs": {}, "index_location": "end"}}}}])",
        shape_json(grid.chunk, grid.num_dims), array.codecs, index_codecs);
  }
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "array", "shape": {}, "data_type": "{}", )"
      R"("chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {}}}}}, )"
      R"("chunk_key_encoding": {{"name": "default", "configuration": {{"separator": "/"}}}}, )"
      R"("fill_value": {}, "codecs": {}, "attributes": {}, "dimension_names": [{}]}})",
      shape_json(grid.extents, grid.num_dims), store::type_name(array.type),
      shape_json(grid.shard, grid.num_dims), zero_json(array.type), codecs,
      attributes_json(array.attributes), fmt::join(names, ", "));
}

std::string group_json(const Attributes& attributes,
                       const std::vector<std::pair<std::string, std::string>>& arrays) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : arrays) texts.push_back(quoted(name) + ": " + text);
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "group", "attributes": {}, "consolidated_metadata": )"
      R"({{"kind": "inline", "must_understand": false, "metadata": {{{}}}}}}})",
      attributes_json(attributes), fmt::join(texts, ", "));
}

}  // namespace tailrace::server
