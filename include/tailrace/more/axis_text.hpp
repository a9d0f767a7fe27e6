// SPDX-License-Identifier: BSD-3-Clause
// How messages name axes, and write lists with one entry per axis. In C order, the last axis is the
// fastest, axes and items count from 0, and 2:5 are three items. Programs that use the Fortran
// module get messages in Fortran order: the first axis is the fastest, everything counts from 1,
// and the same items are 3:5.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tailrace {

/// From now on, messages of this process use Fortran order.
void write_axes_as_fortran();
/// Whether messages of this process use Fortran order.
bool axes_as_fortran();

/// The number in messages of `axis` (from 0) of `num_dims` axes.
std::ptrdiff_t axis_number(std::ptrdiff_t axis, std::size_t num_dims);
/// The number in messages of the first axis, the first item, ...: 0 or 1.
inline int first_number() { return axes_as_fortran() ? 1 : 0; }
/// The text of the items from `start` (inclusive) to `start` + `count` (exclusive).
std::string range_text(std::ptrdiff_t start, std::ptrdiff_t count);

/// The text of a list `entries` with one entry per axis.
template <class Entries>
std::string per_axis(const Entries& entries, std::string_view separator = ", ") {
  std::vector<std::string> texts;
  for (const auto& entry : entries) {
    if constexpr (std::is_convertible_v<decltype(entry), std::string>) {
      texts.emplace_back(entry);
    } else {
      texts.push_back(std::to_string(entry));
    }
  }
  if (axes_as_fortran()) std::ranges::reverse(texts);
  std::string line;
  for (const auto& text : texts) {
    if (&text != texts.data()) line += separator;
    line += text;
  }
  return line;
}

/// The text of a list of `axes` of `num_dims`, given from the slowest to the fastest.
template <class Axes>
std::string axis_list(const Axes& axes, std::size_t num_dims) {
  std::vector<std::ptrdiff_t> numbers;
  for (const auto axis : axes) {
    numbers.push_back(axis_number(static_cast<std::ptrdiff_t>(axis), num_dims));
  }
  return per_axis(numbers);
}

}  // namespace tailrace
