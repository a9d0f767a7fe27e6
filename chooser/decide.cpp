// SPDX-License-Identifier: BSD-3-Clause
#include "chooser/decide.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace tailrace::chooser {

namespace {

double within_limits(double noise, std::size_t count) {
  const double most = largest_no_difference * (1 + 20 / static_cast<double>(count));
  return std::clamp(noise, least_difference, most);
}

}  // namespace

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

double ratio(std::span<const double> samples, std::span<const double> reference, double part) {
  std::vector<double> logs(std::min(samples.size(), reference.size()));
  constexpr double least_s = 1e-12;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i] = std::log(std::max(samples[i], least_s) / std::max(reference[i], least_s));
  }
  return std::exp(quantile(logs, part));
}

double null_spread(std::span<const double> first, std::span<const double> second) {
  const std::size_t count = std::min(first.size(), second.size());
  if (count == 0) return least_difference;
  std::vector<double> a(first.begin(), first.end());
  std::vector<double> b(second.begin(), second.end());
  const auto distance = [&] { return std::abs(std::log(ratio(a, b))); };
  const double seen = distance();
  constexpr int exchanges = 200;
  std::mt19937 generator(1);  // the same numbers on all ranks
  std::vector<double> chance;
  for (int i = 0; i < exchanges; ++i) {
    for (std::size_t round = 0; round < count; ++round) {
      if (generator() % 2 == 0) std::swap(a[round], b[round]);
    }
    chance.push_back(distance());
  }
  // Few samples do not show how far they scatter.
  const double few = 1 + 10 / static_cast<double>(count);
  return within_limits(std::expm1(std::max(seen, few * quantile(chance, 0.99))), count);
}

double noise_of_few(double time, double other, std::size_t count) {
  return count < 2 ? largest_no_difference : within_limits(other / time - 1, count);
}

std::size_t first_as_good(std::span<const double> times, double null) {
  const double best = *std::ranges::min_element(times);
  const auto found = std::ranges::find_if(times, [&](double m) { return m <= best * (1 + null); });
  return static_cast<std::size_t>(found - times.begin());
}

}  // namespace tailrace::chooser
