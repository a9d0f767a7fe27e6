// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tailrace/reduction.hpp"

namespace tailrace {

/// The cost, on this rank, of the operations of one kind and size class.
struct ReductionCount {
  ReductionKind kind = ReductionKind::allreduce;
  std::ptrdiff_t max_bytes = 0;  ///< largest vector of the class: 8, 16, 32 ...; 0 for barriers
  std::int64_t count = 0;
  double time_s = 0;  ///< in calls of `Reduction` that start, finish or run one
};

/// During its lifetime, counts the operations of every `Reduction` on this thread, including those
/// in Krylov solvers, by kind and size. Without a tally nothing is counted and no clock is read. If
/// tallies are nested, only the inner one counts; when it ends, it adds its counts to the outer
/// one. Operations without items are not counted. All functions are local.
class ReductionTally {
 public:
  ReductionTally();
  ~ReductionTally();
  ReductionTally(const ReductionTally&) = delete;
  ReductionTally& operator=(const ReductionTally&) = delete;

  /// The classes with operations, by kind, then by ascending size.
  std::vector<ReductionCount> counts() const;
  /// Adds operations to the class of `bytes`.
  void add(ReductionKind kind, std::ptrdiff_t bytes, std::int64_t count, double time_s);
  /// The newest tally of this thread, or nullptr.
  static ReductionTally* current();

 private:
  struct Entry {
    std::int64_t count = 0;
    double time_s = 0;
  };
  static constexpr std::size_t num_classes = 60;

  std::array<std::array<Entry, num_classes>, 3> entries_{};
  ReductionTally* outer_;
};

/// "allreduce"
std::string_view name(ReductionKind kind);

}  // namespace tailrace
