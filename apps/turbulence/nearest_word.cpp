// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>

#include "case.hpp"

namespace tailrace::turbulence {

namespace {

/// Levenshtein's distance: fewest insertions, deletions and replacements from `a` to `b`.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(const std::string& text, std::span<const std::string> words) {
  std::string best;
  std::size_t best_distance = 0;
  for (const auto& word : words) {
    const std::size_t distance = edit_distance(text, word);
    if (best.empty() || distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace tailrace::turbulence
