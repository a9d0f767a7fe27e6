// SPDX-License-Identifier: BSD-3-Clause
#include "move/allreduce/node_runner.hpp"

#include <algorithm>
#include <cstring>

#include <sched.h>

#include "move/allreduce/combine.hpp"

namespace tailrace {

namespace {

constexpr std::ptrdiff_t line_bytes = 64;
constexpr std::ptrdiff_t longest_piece_bytes = 256 << 10;
/// Vectors of all the node's ranks together that one rank combines sooner than all ranks meet
/// twice.
constexpr std::ptrdiff_t short_bytes = 64 << 10;

std::ptrdiff_t whole_lines(std::ptrdiff_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

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

}  // namespace

NodeRunner::NodeRunner(const ReductionProblem& problem, LongVectors long_vectors)
    : comm_(problem.comm),
      waiting_(problem.machine.waiting),
      group_(problem.comm, problem.machine.nodes),
      long_vectors_(long_vectors),
      piece_bytes_(whole_lines(std::clamp(problem.max_bytes, line_bytes, longest_piece_bytes))),
      message_(problem.machine.waiting) {
  const auto head_bytes = whole_lines(sizeof(Head)) + piece_bytes_;  // and the result
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

void NodeRunner::run(const ReductionTask& task) {
  begin(task, true);
  advance(true);
}

void NodeRunner::start(const ReductionTask& task) { begin(task, false); }

void NodeRunner::begin(const ReductionTask& task, bool at_once) {
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

// A slice that this rank combines itself is read where it is.
void NodeRunner::contribute() {
  if (task_.num_items == 0) return;
  if (!in_slices_) return copy_range(own_, task_.in, {0, task_.num_items});
  const auto own = slice(task_.num_items, group_.node.rank(), group_.node.num_ranks());
  copy_range(own_, task_.in, {0, own.start});
  const auto end = own.start + own.count;
  copy_range(own_, task_.in, {end, task_.num_items - end});
}

bool NodeRunner::advance_in_ring(bool may_wait) {
  if (step_ == Step::enters_ring) {
    if (!ring_->give(task_, may_wait)) return false;
    step_ = Step::in_ring;
  }
  if (task_.wants_result(comm_.rank()) && !ring_->take(task_, may_wait)) return false;
  step_ = Step::done;
  return true;
}

bool NodeRunner::advance(bool may_wait) {
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

void NodeRunner::combine_slice() {
  const auto rank = static_cast<std::size_t>(group_.node.rank());
  const auto own = slice(task_.num_items, group_.node.rank(), group_.node.num_ranks());
  const auto* shared = std::exchange(vectors_[rank], task_.in);
  combine_all(own, result());
  vectors_[rank] = shared;
  head_->combined.arrive(group_.node.num_ranks());
  ++combined_;
}

void NodeRunner::begin_between() {
  if (by_team_) {
    team_->run([&](int thread) {
      combine_all(slice(task_.num_items, thread, team_->num_threads()), result());
    });
  }
  if (group_.lone()) return;
  if (task_.kind == ReductionKind::barrier) return message_.barrier(group_.leaders, at_once_);
  ReductionTask task = task_;
  task.out = result();
  task.in = task.out;
  message_.allreduce(task, group_.leaders, at_once_);
}

bool NodeRunner::is_ready(bool may_wait) {
  if (group_.leads()) {
    if (!message_.advance(may_wait)) return false;
    head_->ready.publish(ready_);
    return true;
  }
  if (may_wait) wait_and_progress(head_->ready, ready_, comm_.raw(), waiting_);
  return head_->ready.reached(ready_);
}

bool NodeRunner::passed(Arrivals& arrivals, std::uint32_t rounds, bool may_wait) {
  if (may_wait) arrivals.wait(rounds, waiting_, comm_.raw());
  return arrivals.reached(rounds);
}

void NodeRunner::take_result() {
  if (!task_.wants_result(comm_.rank())) return;
  copy_range(task_.out, result(), {0, task_.num_items});
}

NodeRunner::Range NodeRunner::slice(std::ptrdiff_t num_items, int index, int num_slices) const {
  constexpr std::ptrdiff_t step = 16;  // whole cache lines
  const auto share = ((num_items + num_slices - 1) / num_slices + step - 1) / step * step;
  const auto start = std::min(num_items, index * share);
  return {start, std::min(share, num_items - start)};
}

void NodeRunner::copy_range(std::byte* to, const std::byte* from, Range range) const {
  const auto item_bytes = number_bytes(task_.type);
  if (range.count == 0) return;
  std::memcpy(to + range.start * item_bytes, from + range.start * item_bytes,
              static_cast<std::size_t>(range.count * item_bytes));
}

std::byte* NodeRunner::result() const { return window_.segment(0) + whole_lines(sizeof(Head)); }

void NodeRunner::combine_all(Range range, std::byte* out) {
  combine(task_.type, task_.op, out, vectors_, range.start, range.count);
}

void NodeRunner::combine_parts(NumberType type, ReduceOp op, std::byte* out,
                               std::span<const std::byte* const> parts, std::ptrdiff_t num_items) {
  const bool is_long = num_items * number_bytes(type) * std::ssize(parts) > short_bytes;
  if (!team_ || !is_long) return combine(type, op, out, parts, 0, num_items);
  team_->run([&](int thread) {
    const auto range = slice(num_items, thread, team_->num_threads());
    combine(type, op, out, parts, range.start, range.count);
  });
}

}  // namespace tailrace
