// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/attributes.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace {

/// One array of a file: `data` is this rank's part, as `layout` and `memory` say. The shortest form
/// is `Variable("u", layout, std::span(u))`. Refers to layout and data, which must live until the
/// call that it is given to returns.
struct Variable {
  std::string name;  ///< slashes put it in groups: "GROUP/NAME"
  ItemType type = ItemType::float64;
  /// Name of each axis; empty: "x", or "y", "x", or "z", "y", "x", with "dim_0", "dim_1" before.
  std::vector<std::string> dims;
  const Layout* layout = nullptr;
  /// Without boxes: dense (`Memory::dense`), of `num_items` items, as many as the rank holds.
  Memory memory;
  const void* data = nullptr;
  Attributes attributes;

  Variable() = default;
  Variable(std::string its_name, ItemType its_type, std::vector<std::string> its_dims,
           const Layout* its_layout, Memory its_memory, const void* its_data,
           Attributes its_attributes = {})
      : name(std::move(its_name)),
        type(its_type),
        dims(std::move(its_dims)),
        layout(its_layout),
        memory(std::move(its_memory)),
        data(its_data),
        attributes(std::move(its_attributes)) {}
  /// `array` holds this rank's boxes one after another, each row-major without gaps, and nothing
  /// else; the call that writes throws `Errc::invalid_input` on all ranks if it has another size.
  /// Local.
  template <FileItem T, std::size_t N>
  Variable(std::string its_name, const Layout& its_layout, std::span<T, N> array,
           std::vector<std::string> its_dims = {}, Attributes its_attributes = {})
      : Variable(std::move(its_name), item_type<T>(), std::move(its_dims), &its_layout,
                 Memory{{}, std::ssize(array)}, array.data(), std::move(its_attributes)) {}
  template <FileItem T, std::size_t N>
  Variable(std::string its_name, Layout&& its_layout, std::span<T, N> array,
           std::vector<std::string> its_dims = {}, Attributes its_attributes = {}) = delete;
};

struct FileContents {
  std::vector<Coordinate> coordinates = {};
  std::vector<Variable> variables = {};
  Attributes attributes = {};  ///< of the file
  std::int64_t step = 0;       ///< named in error messages
  /// HDF5: coordinates are dimension scales of the axes that they name, as in files of netCDF;
  /// false: there are no scales, and coordinates are plain arrays.
  bool scales = true;
  /// Of groups, by name; a group without arrays is made, too. Not in Zarr stores.
  std::vector<std::pair<std::string, Attributes>> group_attributes = {};
  /// Why this rank could not make its contents, if so: the call that takes them throws it on all
  /// ranks. For callers that take them from another language.
  std::optional<Error> fault = {};
};

}  // namespace tailrace
