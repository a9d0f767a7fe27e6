// SPDX-License-Identifier: BSD-3-Clause
#include "core/nearest_word.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tailrace {

namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Letters to change, insert or remove to get from `a` to `b`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (same_letter(a[i], b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_word(std::string_view text, std::span<const std::string_view> words,
                              std::size_t limit) {
  std::string_view best;
  for (const auto word : words) {
    const std::size_t changes = distance(text, word);
    if (changes >= limit) continue;
    limit = changes;
    best = word;
  }
  return best;
}

std::string words_instead(std::string_view wrong, std::span<const std::string_view> words) {
  // Two letters in the wrong order are two changes.
  const auto nearest = nearest_word(wrong, words, slip_limit(wrong) + 1);
  return fmt::format("{}{}", fmt::join(words, ", "),
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

}  // namespace tailrace
