// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace {

/// The word of `words` nearest to `text` by Levenshtein's distance, if fewer than `limit` letters
/// change; "" if there is none. Capital letters count as small ones. Local.
std::string_view nearest_word(std::string_view text, std::span<const std::string_view> words,
                              std::size_t limit = SIZE_MAX);
inline std::string_view nearest_word(std::string_view text, std::span<const std::string> words,
                                     std::size_t limit = SIZE_MAX) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return nearest_word(text, views, limit);
}

/// "a, b, c; did you mean b?": `words`, and the one that `wrong` is a slip of, if any. Local.
std::string words_instead(std::string_view wrong, std::span<const std::string_view> words);

/// As many changed letters as a slip of the pen has, plus one: a limit for `nearest_word`.
inline std::size_t slip_limit(std::string_view text) {
  return (text.size() < 3 ? 1 : text.size() / 3) + 1;
}

}  // namespace tailrace
