// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "blas/calls.hpp"
#include "blas/choices.hpp"
#include "blas/libraries.hpp"
#include "blas/shape_verdict.hpp"

namespace tailrace::blas {

/// BLAS calls that are computed by what measures fastest for their class: routine, type, letters,
/// whether C is read, and extents (exact up to 16, then four classes an octave). Other libraries
/// are opened once the calls so far would have taken some 0.2 s (`work_before_libraries`), or where
/// an earlier run has chosen one. From any thread.
class ShapeChooser {
 public:
  /// Calls of less work go to the own library at once.
  static constexpr std::int64_t small = 16 * 1024;
  /// In multiplications.
  static constexpr std::int64_t work_before_libraries = 5'000'000'000;

  /// `threads` is the most that methods of ours and other libraries may use. Local.
  explicit ShapeChooser(int threads, std::int64_t before_libraries = work_before_libraries);
  ~ShapeChooser();

  /// Computes a plain call, by `own`, the routine of the program's own library, where that is best.
  template <class Call>
  void run(const Call& call, void* own) {
    const auto work = call.work();
    if (work < small) return call.run(own);
    const auto key = key_of(call.shape(), CallTraits<Call>::number, libraries_are_due(work, call));
    auto* verdict = verdict_of(key);
    if (verdict == nullptr) verdict = add(key, variants_of(call, own), own);
    if (verdict == nullptr) return call.run(own);
    const auto turn = verdict->next();
    const auto& variant = verdict->variants()[static_cast<std::size_t>(turn.variant)];
    const double start_s = turn.timed ? seconds_now() : 0;
    if (variant.method == GemmMethod::library) {
      call.run(variant.routine == nullptr || forked() ? own : variant.routine);
    } else if constexpr (CallTraits<Call>::has_methods) {
      run_gemm(variant.method, call.product(), threads_now(variant.threads));
    }
    if (turn.timed) verdict->record(turn.variant, seconds_now() - start_s);
  }

  /// What became of all calls.
  ShapeVerdict::Account account() const;
  /// Calls of each variant other than the own library.
  std::map<std::string, std::int64_t> by_variant() const;
  /// Other libraries that were asked for and cannot be used, and why.
  std::vector<std::string> left_out() const;
  /// Writes down what was learned, if that was all there was to learn. At the end of a process.
  void remember() const;

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::string calls;  ///< key and own library, as remembered
    ShapeVerdict verdict;
  };
  static constexpr std::size_t num_slots = 4096;
  static constexpr std::uint64_t with_libraries = std::uint64_t{1} << 63;

  static std::uint64_t key_of(const Shape& shape, unsigned routine, bool due);
  ShapeVerdict* verdict_of(std::uint64_t key) const;
  ShapeVerdict* add(std::uint64_t key, std::vector<BlasVariant> variants, const void* own);
  static double seconds_now();
  static bool forked();
  static int threads_now(int threads);
  void open_libraries();
  bool knows_of_libraries() const;

  /// Counts work; where less is done in a second a multiplication weighs more.
  template <class Call>
  bool libraries_are_due(std::int64_t work, const Call&) {
    if (opened_.load(std::memory_order_acquire)) return !libraries_.usable.empty();
    constexpr bool from_memory =
        CallTraits<Call>::routine == CallTraits<GemvCall<double>>::routine ||
        CallTraits<Call>::routine >= CallTraits<AxpyCall<double>>::routine;
    const auto sum = work_.load(std::memory_order_relaxed) + work * (from_memory ? 16 : 1);
    work_.store(sum, std::memory_order_relaxed);
    if (sum < before_libraries_ || forked()) return false;
    open_libraries();
    return opened_.load(std::memory_order_acquire) && !libraries_.usable.empty();
  }

  template <class Call>
  std::vector<BlasVariant> variants_of(const Call& call, void* own) const {
    std::vector<BlasVariant> variants{{}};
    if constexpr (CallTraits<Call>::has_methods) {
      constexpr double flops_for_threads = 2e6;
      for (const auto method : {GemmMethod::packed, GemmMethod::direct, GemmMethod::inner}) {
        if (!worth_trying(method, call.product())) continue;
        const std::string name = dense::name(method);
        variants.push_back({method, 1, nullptr, name});
        if (threads_ > 1 && 2.0 * static_cast<double>(call.work()) > flops_for_threads) {
          variants.push_back({method, threads_, nullptr, name + ", all threads"});
        }
      }
    }
    if (!opened_.load(std::memory_order_acquire)) return variants;
    const std::string routine =
        letter_of<typename CallTraits<Call>::Item>() + std::string(Call::name);
    for (const auto& library : libraries_.usable) {
      void* const found = library.find(routine);
      if (found != nullptr && found != own) {
        variants.push_back({GemmMethod::library, 1, found, library.name});
      }
    }
    return variants;
  }

  int threads_;
  std::int64_t before_libraries_;
  std::string machine_;
  chooser::Winners remembered_;
  std::unique_ptr<std::array<std::atomic<Slot*>, num_slots>> slots_;
  std::mutex adding_;
  std::size_t used_ = 0;
  std::atomic<std::int64_t> work_ = 0;
  std::mutex opening_;
  std::atomic<bool> opened_ = false;
  BlasLibraries libraries_;  ///< not changed once `opened_`
};

/// The one of this process; its choices are remembered at exit.
ShapeChooser& shape_chooser();

/// The most threads for our methods: what the user has set for the library
/// (OPENBLAS_NUM_THREADS, BLIS_NUM_THREADS, MKL_NUM_THREADS, OMP_NUM_THREADS), else the processors
/// that this process may run on.
int blas_threads();

/// TAILRACE_BLAS=library: nothing but the program's own library.
bool always_library();

}  // namespace tailrace::blas
