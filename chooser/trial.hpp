// SPDX-License-Identifier: BSD-3-Clause
// Which of some alternatives is fastest for one class of calls, learned from the calls themselves:
// they run in turns, and each turn gives the caller its result, so nothing is computed twice.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tailrace::chooser {

/// The times of some candidates. The first one is the reference, which stays where no other is
/// faster by more than noise. The shortest time of each counts, so one disturbed call, or a first
/// one that pays for what is made once, changes nothing. Noise is what the two shortest times of
/// the reference differ by. Local; not for several threads at once.
class Trial {
 public:
  /// A candidate that takes more than this many times as long as the reference gets no more turns.
  static constexpr double hopeless = 2;

  Trial(std::size_t num_candidates, int rounds) : rounds_(rounds), entries_(num_candidates) {}

  /// Whose turn is next: the first of those with fewest turns. Once it is decided, the winner.
  std::size_t next() const;
  void add(std::size_t candidate, double seconds);
  /// Each candidate has had its turns.
  bool decided() const;
  /// Of those no slower than the fastest by more than noise, the first.
  std::size_t winner() const;

  int turns(std::size_t candidate) const { return entries_[candidate].turns; }
  /// The shortest time so far; infinite where there is none.
  double shortest_s(std::size_t candidate) const { return entries_[candidate].shortest_s; }
  /// The two shortest times of each candidate: where ranks take part, they agree on the longest of
  /// each before they ask for the winner.
  std::vector<double> times() const;
  void set_times(std::span<const double> times);

 private:
  static constexpr double unknown_s = std::numeric_limits<double>::infinity();
  struct Entry {
    int turns = 0;
    bool dropped = false;
    double shortest_s = unknown_s, next_s = unknown_s;
  };

  int rounds_;
  std::vector<Entry> entries_;
};

}  // namespace tailrace::chooser
