// SPDX-License-Identifier: BSD-3-Clause
// What tables have in common whose lines are things with a `name`, one of which users ask for.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_word.hpp"
#include "tailrace/more/method_info.hpp"

namespace tailrace {

/// The line of `table` called `name`; nullptr if there is none. Local.
template <class Table>
constexpr auto find_line(const Table& table, std::string_view name) -> decltype(table.data()) {
  for (const auto& line : table) {
    if (line.name == name) return &line;
  }
  return nullptr;
}

/// The names of `table` for the error that says that `wrong` is none of them: "auto, a, b; did you
/// mean a?", with `also` in front if it is not empty. Local.
template <class Table>
std::string names_instead(std::string_view wrong, const Table& table,
                          std::string_view also = "auto") {
  std::vector<std::string_view> names;
  if (!also.empty()) names.push_back(also);
  for (const auto& line : table) names.emplace_back(line.name);
  return words_instead(wrong, names);
}

/// The table as users see it.
template <class Line, std::size_t N>
constexpr std::array<MethodInfo, N> method_infos(const std::array<Line, N>& lines) {
  std::array<MethodInfo, N> infos{};
  for (std::size_t i = 0; i < N; ++i) {
    infos[i] = {lines[i].name, lines[i].summary, lines[i].applies_text};
    if constexpr (requires { lines[i].available(); }) infos[i].available = lines[i].available();
  }
  return infos;
}

}  // namespace tailrace
