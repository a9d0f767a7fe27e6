// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "chooser/trial.hpp"
#include "tailrace/more/gemm.hpp"

namespace tailrace::blas {

using dense::GemmMethod;

/// Who computes: the program's own library (the first one), another library's routine, or a method
/// of ours on some threads.
struct BlasVariant {
  GemmMethod method = GemmMethod::library;
  int threads = 1;          ///< libraries have their own mind
  void* routine = nullptr;  ///< of another library
  std::string name = "own";
};

/// Which variant computes the calls of one class of shapes. It is learned from the calls
/// themselves: the first ones take turns, each with the right result, so nothing is computed twice.
/// From any thread.
class ShapeVerdict {
 public:
  /// Calls of each variant before the choice.
  static constexpr int rounds = 5;
  /// After so many calls two are timed again, one by the own library.
  static constexpr std::int64_t until_check = 1024;
  /// The same where the choice was remembered.
  static constexpr std::int64_t until_first_check = 16;

  /// `variants` begin with the own library; `chosen`: the one that an earlier run chose, or -1.
  explicit ShapeVerdict(std::vector<BlasVariant> variants, int chosen = -1);

  struct Turn {
    int variant;  ///< index of `variants()`
    bool timed;   ///< tell `record` how long it took
  };
  Turn next();
  void record(int variant, double seconds);
  const std::vector<BlasVariant>& variants() const { return variants_; }
  /// The variant that was chosen, or -1 while they take turns.
  int chosen() const { return chosen_.load(std::memory_order_relaxed); }

  struct Account {
    std::int64_t calls, ours;  ///< `ours`: not by the own library
    double gained_s;           ///< estimated from the times of the turns
  };
  Account account() const;

 private:
  void record_check(int variant, double seconds);

  std::vector<BlasVariant> variants_;
  std::atomic<int> chosen_;
  std::atomic<std::int64_t> calls_ = 0, ours_ = 0;
  std::int64_t ahead_ = 0;    ///< of the next check
  mutable std::mutex mutex_;  // of what follows
  chooser::Trial trial_;
  double check_library_s_ = 0;
  int bad_checks_ = 0;
};

}  // namespace tailrace::blas
