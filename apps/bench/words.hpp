// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The words of "a;b;c" without empty ones.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + separator) {
    if (c != separator) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, ""));
    }
  }
  return words;
}

/// True if one of `words` is part of `name`, or if there are none.
inline bool is_wanted(const std::string& name, const std::vector<std::string>& words) {
  return words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& word) {
           return name.find(word) != std::string::npos;
         });
}

/// "4 KiB"
inline std::string bytes_text(std::ptrdiff_t bytes) {
  const char* const units[] = {" B", " KiB", " MiB", " GiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit < 3) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + units[unit];
}

/// What a problem's name says of nodes: nothing if there is one.
inline std::string nodes_text(int num_nodes) {
  return num_nodes == 1 ? "" : " on " + std::to_string(num_nodes) + " nodes";
}

}  // namespace bench
