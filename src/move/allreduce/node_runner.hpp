// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "move/allreduce/mpi_step.hpp"
#include "move/allreduce/node_group.hpp"
#include "move/allreduce/reduce_ring.hpp"
#include "move/allreduce/reducer.hpp"
#include "move/allreduce/thread_team.hpp"
#include "move/arrivals.hpp"
#include "move/node_window.hpp"

namespace tailrace {

/// Reduces in memory that the ranks of a node share. Every rank copies its vector there and arrives
/// at a counter.
///
/// Short vectors: the last one to arrive combines all of them, in the order of ranks, and wakes the
/// others once: a rank waits at most once. Long vectors: each rank combines its slice of all, and
/// arrives at a second counter; or, with a team of threads, the node's first rank combines all.
/// With several nodes the first ranks allreduce among themselves in between. Short vectors that
/// only one rank of a lone node wants go through a ring, so that the others need not wait for it.
class NodeRunner : public ReductionRunner {
 public:
  enum class LongVectors { in_slices_by_ranks, by_threads_of_leader };

  /// Collective, blocking.
  NodeRunner(const ReductionProblem& problem, LongVectors long_vectors);

  std::ptrdiff_t piece_bytes() const override { return piece_bytes_; }
  std::ptrdiff_t buffer_bytes() const override {
    return window_bytes_ + (ring_ ? ring_->buffer_bytes() : 0);
  }
  void run(const ReductionTask& task) override;
  void start(const ReductionTask& task) override;
  bool advance(bool may_wait) override;
  void combine_parts(NumberType type, ReduceOp op, std::byte* out,
                     std::span<const std::byte* const> parts, std::ptrdiff_t num_items) override;

 private:
  /// What the node's ranks tell each other, in the segment of the first.
  struct Head {
    Arrivals contributed;  ///< all vectors are there
    Arrivals combined;     ///< all slices are
    SequenceFlag ready;    ///< the first rank says that the result is
  };
  enum class Step { enters_ring, in_ring, contributed, combined, between, done };
  struct Range {
    std::ptrdiff_t start = 0, count = 0;
  };

  void begin(const ReductionTask& task, bool at_once);
  bool advance_in_ring(bool may_wait);
  void contribute();
  void combine_slice();
  void begin_between();
  bool passed(Arrivals& arrivals, std::uint32_t rounds, bool may_wait);
  bool is_ready(bool may_wait);
  void take_result();
  Range slice(std::ptrdiff_t num_items, int index, int num_slices) const;
  void copy_range(std::byte* to, const std::byte* from, Range range) const;
  std::byte* result() const;
  /// Combines all vectors where they are.
  void combine_all(Range range, std::byte* out);

  const Comm& comm_;
  const WaitPolicy& waiting_;
  NodeGroup group_;
  LongVectors long_vectors_;
  std::ptrdiff_t piece_bytes_, window_bytes_ = 0;
  NodeWindow window_;
  Head* head_ = nullptr;
  std::vector<const std::byte*> vectors_;  ///< of the node's ranks
  std::byte* own_ = nullptr;               ///< vector in shared memory
  std::optional<ThreadTeam> team_;
  std::optional<ReduceRing> ring_;
  MpiStep message_;

  ReductionTask task_;
  Step step_ = Step::done;
  bool at_once_ = false;
  bool in_slices_ = false;
  bool by_team_ = false;
  bool led_ = false;  ///< the first rank says when the result is ready
  std::uint32_t contributed_ = 0, combined_ = 0, ready_ = 0;  ///< rounds of the head's counters
};

}  // namespace tailrace
