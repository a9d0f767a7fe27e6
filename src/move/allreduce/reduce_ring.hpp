// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "move/allreduce/reducer.hpp"
#include "move/arrivals.hpp"
#include "move/node_window.hpp"

namespace tailrace {

/// Short vectors of a node's ranks on their way to a root among them. Several reductions fit in, so
/// ranks that only give theirs wait for nobody, unless they are that many ahead. Calls in the same
/// order on all ranks; the root may change from one to the next.
class ReduceRing {
 public:
  static constexpr std::ptrdiff_t longest_bytes = 1024;

  /// For vectors of at most `max_bytes`. Keeps references. Collective over `node`, blocking.
  ReduceRing(const Comm& node, const WaitPolicy& waiting, std::ptrdiff_t max_bytes);

  bool takes(const ReductionTask& task) const {
    return task.kind == ReductionKind::reduce && task.num_bytes() <= slot_bytes_;
  }
  /// Gives this rank's vector; false if there is no room yet and it may not wait.
  bool give(const ReductionTask& task, bool may_wait);
  /// Combines all vectors of the task given last, in the order of ranks, into its `out`; false if
  /// some are missing and it may not wait. For the root alone.
  bool take(const ReductionTask& task, bool may_wait);
  std::ptrdiff_t buffer_bytes() const { return bytes_; }

 private:
  static constexpr std::uint32_t depth = 16;
  /// In the segment of the node's first rank.
  struct Round {
    Arrivals given;
    SequenceFlag taken;  ///< uses of this place that have ended
  };

  const Comm& node_;
  const WaitPolicy& waiting_;
  std::ptrdiff_t slot_bytes_, bytes_ = 0;
  NodeWindow window_;
  Round* rounds_ = nullptr;
  std::vector<std::byte*> slots_;  ///< of the node's ranks, `depth` each
  std::vector<const std::byte*> vectors_;
  std::uint32_t place_ = depth - 1, uses_ = 0;  ///< of the task given last
};

}  // namespace tailrace
