// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "dense/gemm/gemm.hpp"

namespace tailrace::dense {

/// A method on some threads.
struct GemmWay {
  GemmMethod method = GemmMethod::library;
  int threads = 1;  ///< the library has its own mind
};

/// Which way computes the products of one class of shapes. It is learned from the calls themselves:
/// the first ones take turns, each with the right result, so nothing is computed twice. From any
/// thread.
class GemmVerdict {
 public:
  /// Calls of each way before the choice; the first of them does not count.
  static constexpr int rounds = 5;
  /// A way must take less than this share of the library's time to be chosen.
  static constexpr double worthwhile = 0.95;
  /// After so many calls two are timed again, one by the library.
  static constexpr std::int64_t until_check = 1024;

  /// `ways` begin with the library.
  explicit GemmVerdict(std::vector<GemmWay> ways);

  struct Turn {
    int way;     ///< index of `ways()`
    bool timed;  ///< tell `record` how long it took
  };
  Turn next();
  void record(int way, double seconds);
  const std::vector<GemmWay>& ways() const { return ways_; }
  /// The way that was chosen, or -1 while they take turns.
  int chosen() const { return chosen_.load(std::memory_order_relaxed); }

  struct Account {
    std::int64_t calls, ours;
    double gained_s;  ///< estimated from the times of the turns
  };
  Account account() const;

 private:
  struct Way {
    int calls = 0;
    double best_s = 1e300;
    bool dropped = false;
  };
  void choose();

  std::vector<GemmWay> ways_;
  std::atomic<int> chosen_ = -1;
  std::atomic<std::int64_t> calls_ = 0, ours_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::vector<Way> known_;
  std::size_t turn_ = 0;
  double check_library_s_ = 0;
  int bad_checks_ = 0;
};

}  // namespace tailrace::dense
