// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <sched.h>

#include "core/round_up.hpp"
#include "move/allreduce/mpi_step.hpp"
#include "move/allreduce/reducer.hpp"
#include "move/allreduce/thread_team.hpp"
#include "move/arrivals.hpp"
#include "move/node_window.hpp"

namespace tailrace {
namespace {

/// Short vectors of a node's ranks on their way to a root among them. Several reductions fit in, so
/// ranks that only give theirs wait for nobody, unless they are that many ahead. Calls in the same
/// order on all ranks; the root may change from one to the next.
class ReduceRing {
 public:
  static constexpr std::ptrdiff_t longest_bytes = 1024;

  /// For vectors of at most `max_bytes`. Keeps references. Collective over `node`, blocking.
  ReduceRing(const Comm& node, const WaitPolicy& waiting, std::ptrdiff_t max_bytes)
      : node_(node),
        waiting_(waiting),
        slot_bytes_(round_up(std::clamp<std::ptrdiff_t>(max_bytes, 1, longest_bytes), line_bytes)),
        vectors_(static_cast<std::size_t>(node.num_ranks())) {
    const auto rounds_bytes = static_cast<std::ptrdiff_t>(depth * sizeof(Round));
    bytes_ = depth * slot_bytes_ + (node.rank() == 0 ? rounds_bytes : 0);
    window_ = NodeWindow(node, bytes_);
    rounds_ = reinterpret_cast<Round*>(window_.segment(0));
    for (int rank = 0; rank < node.num_ranks(); ++rank) {
      slots_.push_back(window_.segment(rank) + (rank == 0 ? rounds_bytes : 0));
    }
  }

  bool takes(const ReductionTask& task) const {
    return task.kind == ReductionKind::reduce && task.num_bytes() <= slot_bytes_;
  }

  /// Gives this rank's vector; false if there is no room yet and it may not wait.
  bool give(const ReductionTask& task, bool may_wait) {
    const auto place = (place_ + 1) % depth;
    const auto before = uses_ - (place == 0 ? 0 : 1);  // uses of the place until now
    auto& round = rounds_[place];
    if (may_wait) wait_and_progress(round.taken, before, node_.raw(), waiting_);
    if (!round.taken.reached(before)) return false;
    place_ = place;
    uses_ = before + 1;
    std::byte* slot = slots_[static_cast<std::size_t>(node_.rank())] + place_ * slot_bytes_;
    std::memcpy(slot, task.in, static_cast<std::size_t>(task.num_bytes()));
    round.given.arrive(node_.num_ranks());
    return true;
  }

  /// Combines all vectors of the task given last, in the order of ranks, into its `out`; false if
  /// some are missing and it may not wait. For the root alone.
  bool take(const ReductionTask& task, bool may_wait) {
    auto& round = rounds_[place_];
    if (may_wait) round.given.wait(uses_, waiting_, node_.raw());
    if (!round.given.reached(uses_)) return false;
    for (std::size_t rank = 0; rank < vectors_.size(); ++rank) {
      vectors_[rank] = slots_[rank] + place_ * slot_bytes_;
    }
    combine(task.type, task.op, task.out, vectors_, 0, task.num_items);
    round.taken.publish(uses_);
    return true;
  }

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

constexpr std::ptrdiff_t longest_piece_bytes = 256 << 10;
/// Vectors of all the node's ranks together that one rank combines sooner than all ranks meet
/// twice.
constexpr std::ptrdiff_t short_bytes = 64 << 10;

/// The first rank has the cores to itself while the others sleep; the others share.
int num_threads(const ReductionProblem& problem, bool leads) {
  constexpr int most_threads = 8;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const bool known = sched_getaffinity(0, sizeof cores, &cores) == 0;
  const int mine = known ? CPU_COUNT(&cores) : 1;
  const int share = problem.machine.facts.cores / std::max(1, problem.machine.facts.ranks_on_node);
  return std::clamp(leads ? mine : std::min(mine, share), 1, most_threads);
}

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
  NodeRunner(const ReductionProblem& problem, LongVectors long_vectors)
      : comm_(problem.comm),
        waiting_(problem.machine.waiting),
        group_(problem.comm, problem.machine.nodes),
        long_vectors_(long_vectors),
        piece_bytes_(
            round_up(std::clamp(problem.max_bytes, line_bytes, longest_piece_bytes), line_bytes)),
        message_(problem.machine.waiting) {
    const auto head_bytes = round_up(sizeof(Head), line_bytes) + piece_bytes_;  // and the result
    window_bytes_ = piece_bytes_ + (group_.leads() ? head_bytes : 0);
    window_ = NodeWindow(comm_, group_.node, window_bytes_);
    head_ = reinterpret_cast<Head*>(window_.segment(0));
    for (int rank = 0; rank < group_.node.num_ranks(); ++rank) {
      vectors_.push_back(window_.segment(rank) + (rank == 0 ? head_bytes : 0));
    }
    own_ = window_.own() + (group_.leads() ? head_bytes : 0);
    if (long_vectors == LongVectors::by_threads_of_leader) {
      team_.emplace(num_threads(problem, group_.leads()));
    }
    if (group_.lone()) ring_.emplace(group_.node, waiting_, problem.max_bytes);
  }

  std::ptrdiff_t piece_bytes() const override { return piece_bytes_; }

  std::ptrdiff_t buffer_bytes() const override {
    return window_bytes_ + (ring_ ? ring_->buffer_bytes() : 0);
  }

  void run(const ReductionTask& task) override {
    begin(task, true);
    advance(true);
  }

  void start(const ReductionTask& task) override { begin(task, false); }

  bool advance(bool may_wait) override {
    if (step_ == Step::enters_ring || step_ == Step::in_ring) return advance_in_ring(may_wait);
    if (step_ == Step::contributed) {
      if (in_slices_) {
        if (!passed(head_->contributed, contributed_, may_wait)) return false;
        combine_slice();
      }
      step_ = Step::combined;
    }
    if (step_ == Step::combined) {
      if (!led_ || group_.leads()) {
        auto& last = in_slices_ ? head_->combined : head_->contributed;
        if (!passed(last, in_slices_ ? combined_ : contributed_, may_wait)) return false;
      }
      if (led_ && group_.leads()) begin_between();
      step_ = Step::between;
    }
    if (step_ == Step::between) {
      if (led_ && !is_ready(may_wait)) return false;
      take_result();
      step_ = Step::done;
    }
    return true;
  }

  void combine_parts(NumberType type, ReduceOp op, std::byte* out,
                     std::span<const std::byte* const> parts, std::ptrdiff_t num_items) override {
    const bool is_long = num_items * number_bytes(type) * std::ssize(parts) > short_bytes;
    if (!team_ || !is_long) return combine(type, op, out, parts, 0, num_items);
    team_->run([&](int thread) {
      const auto range = slice(num_items, thread, team_->num_threads());
      combine(type, op, out, parts, range.start, range.count);
    });
  }

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

  void begin(const ReductionTask& task, bool at_once) {
    task_ = task;
    at_once_ = at_once;
    if (ring_ && ring_->takes(task)) {
      step_ = Step::enters_ring;
      if (!at_once) advance_in_ring(false);  // others need what this rank gives
      return;
    }
    const int num_ranks = group_.node.num_ranks();
    const bool is_long = num_ranks > 1 && task.num_bytes() * num_ranks > short_bytes;
    by_team_ = is_long && long_vectors_ == LongVectors::by_threads_of_leader;
    in_slices_ = is_long && !by_team_;
    led_ = by_team_ || !group_.lone();
    contribute();
    ++contributed_;
    if (led_) ++ready_;
    head_->contributed.arrive(num_ranks, [&] {
      if (!is_long) combine_all({0, task_.num_items}, result());
    });
    step_ = Step::contributed;
  }

  bool advance_in_ring(bool may_wait) {
    if (step_ == Step::enters_ring) {
      if (!ring_->give(task_, may_wait)) return false;
      step_ = Step::in_ring;
    }
    if (task_.wants_result(comm_.rank()) && !ring_->take(task_, may_wait)) return false;
    step_ = Step::done;
    return true;
  }

  // A slice that this rank combines itself is read where it is.
  void contribute() {
    if (task_.num_items == 0) return;
    if (!in_slices_) return copy_range(own_, task_.in, {0, task_.num_items});
    const auto own = slice(task_.num_items, group_.node.rank(), group_.node.num_ranks());
    copy_range(own_, task_.in, {0, own.start});
    const auto end = own.start + own.count;
    copy_range(own_, task_.in, {end, task_.num_items - end});
  }

  void combine_slice() {
    const auto rank = static_cast<std::size_t>(group_.node.rank());
    const auto own = slice(task_.num_items, group_.node.rank(), group_.node.num_ranks());
    const auto* shared = std::exchange(vectors_[rank], task_.in);
    combine_all(own, result());
    vectors_[rank] = shared;
    head_->combined.arrive(group_.node.num_ranks());
    ++combined_;
  }

  void begin_between() {
    if (by_team_) {
      team_->run([&](int thread) {
        combine_all(slice(task_.num_items, thread, team_->num_threads()), result());
      });
    }
    if (group_.lone()) return;
    if (task_.kind == ReductionKind::barrier) return message_.barrier(*group_.leaders, at_once_);
    ReductionTask task = task_;
    task.out = result();
    task.in = task.out;
    message_.allreduce(task, *group_.leaders, at_once_);
  }

  bool passed(Arrivals& arrivals, std::uint32_t rounds, bool may_wait) {
    if (may_wait) arrivals.wait(rounds, waiting_, comm_.raw());
    return arrivals.reached(rounds);
  }

  bool is_ready(bool may_wait) {
    if (group_.leads()) {
      if (!message_.advance(may_wait)) return false;
      head_->ready.publish(ready_);
      return true;
    }
    if (may_wait) wait_and_progress(head_->ready, ready_, comm_.raw(), waiting_);
    return head_->ready.reached(ready_);
  }

  void take_result() {
    if (!task_.wants_result(comm_.rank())) return;
    copy_range(task_.out, result(), {0, task_.num_items});
  }

  Range slice(std::ptrdiff_t num_items, int index, int num_slices) const {
    constexpr std::ptrdiff_t step = 16;  // whole cache lines
    const auto share = round_up(divide_up(num_items, num_slices), step);
    const auto start = std::min(num_items, index * share);
    return {start, std::min(share, num_items - start)};
  }

  void copy_range(std::byte* to, const std::byte* from, Range range) const {
    const auto item_bytes = number_bytes(task_.type);
    if (range.count == 0) return;
    std::memcpy(to + range.start * item_bytes, from + range.start * item_bytes,
                static_cast<std::size_t>(range.count * item_bytes));
  }

  std::byte* result() const { return window_.segment(0) + round_up(sizeof(Head), line_bytes); }

  /// Combines all vectors where they are.
  void combine_all(Range range, std::byte* out) {
    combine(task_.type, task_.op, out, vectors_, range.start, range.count);
  }

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

}  // namespace

// Shared memory of the node with sleeping waits; long vectors in slices, one a rank (NodeRunner).
// Wins where ranks share nodes, above all where they are more than the cores. Cost: short vectors
// are copied in, combined once, copied out, and a rank waits once (or not at all, if it only gives,
// see ReduceRing); long ones are read and written about twice, and a rank waits twice a piece.
//
// The limit on an oversubscribed node: every rank must run once a call, so a core switches between
// ranks ranks / cores times. Measured with 16 ranks on 2 cores and 8 bytes: 9 to 16 us a call where
// ranks yield (1 to 2 us a switch), 31 to 34 us where they sleep and are woken (4 us); a second
// wait for each rank would double that. MPI's own trees wait several times a rank: 31 to 320 us.
std::unique_ptr<ReductionRunner> make_reduction_node_shared(const ReductionProblem& problem) {
  return std::make_unique<NodeRunner>(problem, NodeRunner::LongVectors::in_slices_by_ranks);
}

// As node_shared, but threads of the node's first rank combine long vectors (NodeRunner). Wins
// where ranks are few and cores are many: a rank a socket, whose vectors (or those of its own
// threads, `Reduction::allreduce_parts`) are long. Cost: two wake-ups a rank.
std::unique_ptr<ReductionRunner> make_reduction_node_threads(const ReductionProblem& problem) {
  return std::make_unique<NodeRunner>(problem, NodeRunner::LongVectors::by_threads_of_leader);
}

}  // namespace tailrace
