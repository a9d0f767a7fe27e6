// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tailrace/more/nearest_word.hpp"

namespace tailrace {

/// "a, b, c; did you mean b?": `words`, and the one that `wrong` is a slip of, if any. Local.
std::string words_instead(std::string_view wrong, std::span<const std::string_view> words);

/// As many changed letters as a slip of the pen has, plus one: a limit for `nearest_word`.
inline std::size_t slip_limit(std::string_view text) {
  return (text.size() < 3 ? 1 : text.size() / 3) + 1;
}

}  // namespace tailrace
