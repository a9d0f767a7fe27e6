// SPDX-License-Identifier: BSD-3-Clause
// https://zarr-specs.readthedocs.io/en/latest/v3/core/
#include "server/formats/zarr_json.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "store/item_convert.hpp"

namespace tailrace::server {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(std::int64_t value) { return value; }
Json json_of(const std::string& value) { return value; }
// As Zarr has it: JSON knows no infinities.
Json json_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}
Json json_of(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(json_of(value));
  return list;
}
Json json_of(const Attributes& attributes) {
  Json all = Json::object();
  for (const auto& [name, value] : attributes) {
    all[name] = std::visit([](const auto& v) { return json_of(v); }, value);
  }
  return all;
}
Json json_of(const Index& extents, int num_dims) {
  return std::vector(extents.begin(), extents.begin() + num_dims);
}

Json zero_of(ItemType type) {
  const auto name = store::type_name(type);
  if (name.starts_with("complex")) return {0.0, 0.0};
  return name.starts_with("float") ? Json(0.0) : Json(0);
}

/// Names and texts of users need not be UTF-8.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
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
  return text_of(
      Json{{"zarr_format", 3},
           {"node_type", "array"},
           {"shape", json_of(grid.extents, grid.num_dims)},
           {"data_type", store::type_name(array.type)},
           {"chunk_grid",
            {{"name", "regular"},
             {"configuration", {{"chunk_shape", json_of(grid.shard, grid.num_dims)}}}}},
           {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "/"}}}}},
           {"fill_value", zero_of(array.type)},
           {"codecs", codecs},
           {"attributes", json_of(array.attributes)},
           {"dimension_names", array.dims}});
}

std::string group_json(const Attributes& attributes,
                       const std::vector<std::pair<std::string, std::string>>& arrays) {
  Json metadata = Json::object();
  for (const auto& [name, text] : arrays) metadata[name] = Json::parse(text);
  return text_of(Json{{"zarr_format", 3},
                      {"node_type", "group"},
                      {"attributes", json_of(attributes)},
                      {"consolidated_metadata",
                       {{"kind", "inline"}, {"must_understand", false}, {"metadata", metadata}}}});
}

}  // namespace tailrace::server
