// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/attributes.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace {

/// The position of a rank's one box in a larger array, e.g. `{.halo = 1}`. A halo may be wider than
/// the box. A rank without a box may give an array of any size; a rank with several boxes is
/// refused.
struct ArrayForm {
  std::ptrdiff_t halo = 0;                 ///< items outside the box on both sides of every axis
  std::vector<std::ptrdiff_t> halos = {};  ///< halo of each axis, instead of `halo`
  std::vector<int> order = {};             ///< axes in memory order, slowest first, e.g. {1, 0, 2}
};

/// A vector, array or span of items that files can contain.
template <class Array>
concept ItemRange = std::ranges::contiguous_range<Array> && std::ranges::sized_range<Array> &&
    FileItem<std::ranges::range_value_t<Array>>;

/// One array of a file: `data` is this rank's part, described by `layout` and `memory`. The
/// shortest form is `{"u", layout, u}`, with a halo `{"u", layout, u, {.halo = 1}}`. It refers to
/// layout and data, which must live until the call that uses it returns. `data` may be memory of a
/// GPU: pass `std::span(pointer, items)`.
struct Variable {
 private:
  /// One name in a list of names of dimensions. Numbers and braced lists do not convert to it, so
  /// `{.halo = 1}` is an `ArrayForm`.
  struct Axis {
    template <std::convertible_to<std::string> Text>
    Axis(const Text& text) : name(text) {}
    std::string name;
  };

 public:
  std::string name;  ///< slashes put it in groups: "GROUP/NAME"
  ItemType type = ItemType::float64;
  /// Name of each axis; empty: "x", or "y", "x", or "z", "y", "x", preceded by "dim_0", "dim_1".
  std::vector<std::string> dims;
  const Layout* layout = nullptr;
  /// Without boxes: dense (`Memory::dense`), with `num_items` items, the number that the rank
  /// holds.
  Memory memory;
  const void* data = nullptr;
  Attributes attributes;
  /// If `memory` has no boxes: the position of the rank's one box in the array.
  ArrayForm form;
  /// Compression, in the form of `OutputOptions::compress`, which applies if this is ""; "none":
  /// off.
  std::string compress;

  Variable() = default;
  /// For programs that know the item type only at run time: `its_type` is not compared with the
  /// items, nor `its_memory` with the size of the array. Otherwise pass the array, as below.
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
  /// `array` (a vector, array or span) holds exactly this rank's boxes one after another, each
  /// row-major without gaps; the call that writes throws `Errc::invalid_input` on all ranks if its
  /// size is wrong. `its_dims`: names in braces, or a vector. Local.
  template <ItemRange Array>
  Variable(std::string its_name, const Layout& its_layout, const Array& array,
           std::initializer_list<Axis> its_dims = {}, Attributes its_attributes = {})
      : Variable(std::move(its_name), its_layout, array, names_of(its_dims),
                 std::move(its_attributes)) {}
  template <ItemRange Array, std::convertible_to<std::vector<std::string>> Dims>
  Variable(std::string its_name, const Layout& its_layout, const Array& array, Dims&& its_dims,
           Attributes its_attributes = {})
      : Variable(std::move(its_name), item_type<std::ranges::range_value_t<Array>>(),
                 std::forward<Dims>(its_dims), &its_layout,
                 Memory{{}, static_cast<std::ptrdiff_t>(std::ranges::size(array))},
                 std::ranges::data(array), std::move(its_attributes)) {}
  /// An array with a halo around the rank's box, or with its axes in another order. Local.
  template <ItemRange Array>
  Variable(std::string its_name, const Layout& its_layout, const Array& array, ArrayForm its_form,
           std::vector<std::string> its_dims = {}, Attributes its_attributes = {})
      : Variable(std::move(its_name), its_layout, array, std::move(its_dims),
                 std::move(its_attributes)) {
    form = std::move(its_form);
  }
  template <ItemRange Array, class... Rest>
  Variable(std::string its_name, Layout&& its_layout, const Array& array, Rest&&... rest) = delete;

 private:
  static std::vector<std::string> names_of(std::initializer_list<Axis> axes) {
    std::vector<std::string> names;
    for (const auto& axis : axes) names.push_back(axis.name);
    return names;
  }
};

struct FileContents {
  std::vector<Coordinate> coordinates = {};
  std::vector<Variable> variables = {};
  Attributes attributes = {};  ///< attributes of the file
  std::int64_t step = 0;       ///< named in error messages
  /// HDF5: coordinates are dimension scales of the axes that they name, as in netCDF files; false:
  /// coordinates are plain arrays without scales.
  bool scales = true;
  /// Attributes of groups, by group name; groups without arrays are created. Not in Zarr stores.
  std::vector<std::pair<std::string, Attributes>> group_attributes = {};
  /// Set if this rank could not create its contents: the call that uses them throws this error on
  /// all ranks. For bindings to other languages.
  std::optional<Error> fault = {};
  /// For arrays in device memory: the stream whose queued work must finish before they are copied
  /// (`CUstream` or `cudaStream_t` as a number; 1: the default stream). 0: all work of their device
  /// must finish.
  std::uintptr_t stream = 0;
};

}  // namespace tailrace
