// SPDX-License-Identifier: BSD-3-Clause
#include "tune/decide.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace tailrace::tune {

double quantile(std::span<const double> samples, double part) {
  if (samples.empty()) return 0;
  std::vector<double> copy(samples.begin(), samples.end());
  const double place = part * static_cast<double>(copy.size() - 1);
  const auto below = copy.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(copy, below);
  const double above = below + 1 == copy.end() ? *below : *std::min_element(below + 1, copy.end());
  return *below + (place - std::floor(place)) * (above - *below);
}

double spread(std::span<const double> samples) {
  return (quantile(samples, 0.75) - quantile(samples, 0.25)) / 2;
}

double null_spread(std::span<const double> first, std::span<const double> second) {
  std::vector<double> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  const double middle = median(all);
  if (middle <= 0) return least_difference;
  constexpr int divisions = 200;
  std::mt19937 generator(1);  // the same numbers on all ranks
  std::vector<double> differences;
  for (int division = 0; division < divisions; ++division) {
    for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[generator() % (i + 1)]);
    const std::span<const double> shuffled(all);
    differences.push_back(
        std::abs(median(shuffled.first(first.size())) - median(shuffled.subspan(first.size()))));
  }
  const double seen = std::abs(median(first) - median(second));
  // Few samples do not show how far they scatter.
  const double few = 1 + 6 / static_cast<double>(std::min(first.size(), second.size()));
  return std::max({seen / middle, few * quantile(differences, 0.99) / middle, least_difference});
}

std::size_t first_as_good(std::span<const double> medians, double null) {
  const double best = *std::ranges::min_element(medians);
  const auto found =
      std::ranges::find_if(medians, [&](double m) { return m <= best * (1 + null); });
  return static_cast<std::size_t>(found - medians.begin());
}

}  // namespace tailrace::tune
