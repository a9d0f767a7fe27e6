// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What `tailrace-bench exchange` moves: all-to-alls of one size or of very different sizes, and the
// transposes of a parallel FFT.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tailrace/layout.hpp"
#include "tailrace/more/plan.hpp"

namespace bench {

/// One movement among all ranks, with this rank's arrays. Items are numbered by their place in the
/// global row-major array; an item's words hold numbers made of that and of the round, so that what
/// arrives can be checked exactly.
class ExchangeProblem {
 public:
  /// An all-to-all of `pair_bytes` a pair of ranks on average (itself included, as in MPI; rounded
  /// up to 8 bytes). `pattern`: "uniform"; "fat": every second rank sends one big message, all
  /// other pairs are empty; "zipf": the k-th largest message is 1/k of the largest, in no order.
  static ExchangeProblem all_to_all(const std::string& pattern, std::ptrdiff_t pair_bytes, int rank,
                                    int num_ranks);
  /// A transpose of n^3 complex numbers. `pattern`: "pencils": x-pencils to y-pencils on a square
  /// grid of ranks, y fastest at the end; "kept": the same, order of axes kept; "slabs": z-slabs to
  /// y-slabs, rows of x stay whole, order y, z, x at the end. Axes 0, 1, 2 are z, y, x.
  static ExchangeProblem transpose(const std::string& pattern, std::ptrdiff_t n, int rank,
                                   int num_ranks);

  bool is_transpose() const { return transpose_; }
  const std::string& pattern() const { return pattern_; }
  /// "all-to-all, fat, 512 B a pair" or "x-pencils to y-pencils, 256^3 complex"
  const std::string& name() const { return name_; }
  std::ptrdiff_t size() const { return size_; }  ///< bytes a pair, or points along an edge
  std::ptrdiff_t item_bytes() const { return words_ * 8; }
  std::ptrdiff_t total_bytes() const { return global_items_ * item_bytes(); }
  const tailrace::Plan& plan() const { return plan_; }
  const tailrace::Memory& from_memory() const { return from_memory_; }
  const tailrace::Memory& to_memory() const { return to_memory_; }
  /// Data moves among so many ranks that follow one another: rank / group_size() is the group.
  int group_size() const { return group_size_; }
  /// True if every pair moves the same number of bytes, in contiguous blocks in order of ranks.
  bool uniform() const { return pattern_ == "uniform"; }

  std::ptrdiff_t source_bytes() const { return from_memory_.num_items * item_bytes(); }
  std::ptrdiff_t target_bytes() const { return to_memory_.num_items * item_bytes(); }
  void fill(std::uint64_t* source, int round) const;
  /// Items of the target that are not what round `round` sent.
  double wrong_items(const std::uint64_t* target, int round) const;

 private:
  ExchangeProblem(std::string pattern, const tailrace::Layout& from, const tailrace::Layout& to,
                  int rank);

  std::string pattern_, name_;
  bool transpose_ = false;
  int group_size_ = 1;
  std::ptrdiff_t size_ = 0, words_ = 1, global_items_ = 0;
  tailrace::Index extents_{};
  int num_dims_ = 0;
  tailrace::Plan plan_;
  tailrace::Memory from_memory_, to_memory_;
};

}  // namespace bench
