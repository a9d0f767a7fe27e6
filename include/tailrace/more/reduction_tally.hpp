// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tailrace/reduction.hpp"

namespace tailrace {

/// What the operations of one kind and class of sizes have cost this rank.
struct ReductionCount {
  ReductionKind kind = ReductionKind::allreduce;
  std::ptrdiff_t max_bytes = 0;  ///< largest vector of the class: 8, 16, 32 ...; 0 of barriers
  std::int64_t count = 0;
  double time_s = 0;  ///< in calls of `Reduction` that start, finish or run one
};

/// Counts the operations of every `Reduction` that this thread calls while it lives, those within
/// Krylov solvers too, by kind and size. Without one nothing is counted, and no clock is read. A
/// tally made while another lives takes over, and hands its counts to that one when it ends.
/// Operations without items are no operations. Local, as all of its functions.
class ReductionTally {
 public:
  ReductionTally();
  ~ReductionTally();
  ReductionTally(const ReductionTally&) = delete;
  ReductionTally& operator=(const ReductionTally&) = delete;

  /// The classes that have any, by kind, then ascending.
  std::vector<ReductionCount> counts() const;
  /// Adds to the class of `bytes`.
  void add(ReductionKind kind, std::ptrdiff_t bytes, std::int64_t count, double time_s);
  /// The newest of this thread, or nullptr.
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
