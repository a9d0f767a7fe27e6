// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/attribute_values.hpp"
#include "tailrace/box.hpp"
#include "tailrace/more/attributes.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::server {

/// A box of a field on this server: its items lie row-major without gaps.
struct FieldPart {
  Box box;  ///< in the field's global index space
  const std::byte* data = nullptr;
};

/// This server's part of an array that all servers hold together. The parts of all servers are
/// disjoint; they need not cover the extents (triangles of blocks).
struct Field {
  std::string name;
  ItemType type = ItemType::float64;
  std::vector<std::string> dims;  ///< names of the axes
  Index extents{};                ///< global; as many as `dims`
  Attributes attributes;
  std::string compress;  ///< as in `Variable`
  std::vector<FieldPart> parts;

  int num_dims() const { return static_cast<int>(dims.size()); }
  std::vector<Box> boxes() const {
    std::vector<Box> all;
    for (const auto& part : parts) all.push_back(part.box);
    return all;
  }
  std::optional<store::ItemBytes> fill() const { return store::fill_item(name, attributes, type); }
  store::ItemBytes fill_or_zeros() const { return fill().value_or(store::ItemBytes{}); }
};

/// What belongs to one step of a stream, or was made of it; becomes one file. Everything but the
/// parts is the same on every server.
struct Step {
  std::string path;  ///< final name
  std::int64_t step = 0;
  std::int64_t number = 0;  ///< in its stream, from 0
  std::vector<Coordinate> coordinates;
  Attributes attributes;
  bool scales = true;  ///< this and the next as in `FileContents`
  std::vector<std::pair<std::string, Attributes>> group_attributes;
  std::vector<Field> fields;
  /// How the file is to be encoded, e.g. {"codec", "zstd"}, {"level", "3"}, but for fields that say
  /// it themselves; formats refuse what they do not know.
  std::vector<std::pair<std::string, std::string>> encoding;
  /// Keeps the bytes of all parts alive.
  std::vector<std::shared_ptr<const void>> memory;
};

}  // namespace tailrace::server
