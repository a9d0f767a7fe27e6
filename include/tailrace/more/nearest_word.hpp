// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace {

/// The entry of `words` nearest to `text` by Levenshtein distance, if the distance is below
/// `limit`; otherwise "". Case is ignored. Local.
std::string_view nearest_word(std::string_view text, std::span<const std::string_view> words,
                              std::size_t limit = SIZE_MAX);
inline std::string_view nearest_word(std::string_view text, std::span<const std::string> words,
                                     std::size_t limit = SIZE_MAX) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return nearest_word(text, views, limit);
}

}  // namespace tailrace
