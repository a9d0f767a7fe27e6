// SPDX-License-Identifier: BSD-3-Clause
#include "chooser/trial.hpp"

#include <algorithm>

#include "chooser/decide.hpp"

namespace tailrace::chooser {

std::size_t Trial::next() const {
  if (decided()) return winner();
  const auto before = [](const Entry& a, const Entry& b) {
    return a.dropped != b.dropped ? b.dropped : a.turns < b.turns;
  };
  return static_cast<std::size_t>(std::ranges::min_element(entries_, before) - entries_.begin());
}

void Trial::add(std::size_t candidate, double seconds) {
  Entry& entry = entries_[candidate];
  entry.next_s = std::min(entry.next_s, std::max(entry.shortest_s, seconds));
  entry.shortest_s = std::min(entry.shortest_s, seconds);
  ++entry.turns;
  if (candidate == 0 || entry.turns < 2) return;  // the first turn pays for what is made once
  entry.dropped = entry.shortest_s > hopeless * entries_[0].shortest_s;
}

bool Trial::decided() const {
  return std::ranges::all_of(
      entries_, [&](const Entry& entry) { return entry.dropped || entry.turns >= rounds_; });
}

std::size_t Trial::winner() const {
  std::vector<double> shortest;
  for (const Entry& entry : entries_) {
    shortest.push_back(entry.dropped ? unknown_s : entry.shortest_s);
  }
  const Entry& reference = entries_[0];
  return first_as_good(shortest, noise_of_few(reference.shortest_s, reference.next_s,
                                              static_cast<std::size_t>(reference.turns)));
}

std::vector<double> Trial::times() const {
  std::vector<double> times;
  for (const Entry& entry : entries_) times.insert(times.end(), {entry.shortest_s, entry.next_s});
  return times;
}

void Trial::set_times(std::span<const double> times) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].shortest_s = times[2 * i];
    entries_[i].next_s = times[2 * i + 1];
    entries_[i].dropped = i > 0 && times[2 * i] > hopeless * times[0];
  }
}

}  // namespace tailrace::chooser
