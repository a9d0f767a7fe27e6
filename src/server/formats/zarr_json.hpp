// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/formats/chunk_grid.hpp"
#include "store/attribute_values.hpp"
#include "tailrace/more/attributes.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::server {

/// The file of an array or a group that says what it is.
inline constexpr const char* metadata_name = "zarr.json";

/// An array of a Zarr v3 store, as its zarr.json describes it.
struct ZarrArray {
  std::string name;
  ItemType type = ItemType::float64;
  std::vector<std::string> dims;
  ChunkGrid grid;
  std::string codecs;  ///< of a chunk, a list
  Attributes attributes;
  store::ItemBytes fill{};  ///< what readers see where nothing was written
};

/// A small array of texts in one chunk.
struct ZarrTexts {
  std::string name;
  std::vector<std::ptrdiff_t> extents;
  std::vector<std::string> dims;
  Attributes attributes;
};

/// The text of an array's zarr.json. Attributes are numbers and texts of JSON, without their types;
/// NaN and infinities are words that Python's readers take for numbers. Throws
/// `Errc::invalid_input` for complex attributes, and texts that are not UTF-8. Local.
std::string array_json(const ZarrArray& array);
std::string array_json(const ZarrTexts& array);
/// The text of the zarr.json of group `name` that holds `arrays` (name, text), whose metadata it
/// repeats ("consolidated"), so that a reader opens one file. Throws as `array_json`. Local.
std::string group_json(const std::string& name, const Attributes& attributes,
                       const std::vector<std::pair<std::string, std::string>>& arrays);
/// The codecs of an index of chunks, and what checks it.
inline constexpr const char* index_codecs =
    R"([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])";

}  // namespace tailrace::server
