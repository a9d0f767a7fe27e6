// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "dense/gemm/verdict.hpp"

namespace tailrace::dense {

/// Products that are computed by the method that measures fastest for their class of shapes: type,
/// transposes, whether C is read, and m, n, k (exact up to 16, then four classes an octave). From
/// any thread.
template <class T>
class GemmChooser {
 public:
  /// Products of fewer multiplications go to the library at once.
  static constexpr std::ptrdiff_t small = 16 * 1024;

  /// `threads` is the most that our methods may use. Local.
  explicit GemmChooser(int threads);
  ~GemmChooser();

  /// Computes `product`, by `library()` where that is the method. `product.k` is at least 1 and
  /// alpha not 0.
  template <class Library>
  void run(const Gemm<T>& product, Library library) {
    if (product.m * product.n * product.k < small) return library();
    auto* const verdict = verdict_of(product);
    if (verdict == nullptr) return library();
    const auto turn = verdict->next();
    const double start_s = turn.timed ? seconds_now() : 0;
    if (turn.way == 0) {
      library();
    } else {
      run_way(verdict->ways()[static_cast<std::size_t>(turn.way)], product);
    }
    if (turn.timed) verdict->record(turn.way, seconds_now() - start_s);
  }

  /// What became of all calls.
  GemmVerdict::Account account() const;

 private:
  struct Slot {
    std::uint64_t key = 0;
    GemmVerdict verdict;
  };
  static constexpr std::size_t num_slots = 4096;

  GemmVerdict* verdict_of(const Gemm<T>& product);
  GemmVerdict* add(std::uint64_t key, const Gemm<T>& product);
  static double seconds_now();
  static void run_way(const GemmWay& way, const Gemm<T>& product);

  int threads_;
  std::unique_ptr<std::array<std::atomic<Slot*>, num_slots>> slots_;
  std::mutex adding_;
  std::size_t used_ = 0;
};

/// The most threads for our methods: TAILRACE_BLAS_THREADS, else what the user has told the library
/// (OPENBLAS_NUM_THREADS, BLIS_NUM_THREADS, MKL_NUM_THREADS, OMP_NUM_THREADS), else the processors
/// that this process may run on.
int gemm_threads();

/// TAILRACE_BLAS=library: no method of ours is tried.
bool always_library();

}  // namespace tailrace::dense
