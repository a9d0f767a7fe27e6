// SPDX-License-Identifier: BSD-3-Clause
// Three steps of MPI's: reduce to the first rank of each node, allreduce among these, broadcast
// inside the nodes. Fewer messages between nodes than where every rank has partners elsewhere.
// Cost: 2 log2(ranks per node) messages inside, 2 log2(nodes) between. Blocking or
// non-blocking steps; a task that is started has non-blocking ones either way.
#include "core/last_resort.hpp"
#include "move/allreduce/mpi_step.hpp"
#include "move/allreduce/reducer.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace {
namespace {

class Hierarchical : public ReductionRunner {
 public:
  Hierarchical(const ReductionProblem& problem, bool blocking)
      : comm_(problem.comm),
        nodes_(problem.machine.nodes),
        group_(problem.comm, problem.machine.nodes),
        message_(problem.machine.waiting),
        blocking_(blocking),
        longest_bytes_(std::min(problem.max_bytes, piece_bytes())) {}

  std::ptrdiff_t piece_bytes() const override { return std::ptrdiff_t{64} << 20; }
  std::ptrdiff_t buffer_bytes() const override { return scratch_.bytes(); }

  void run(const ReductionTask& task) override {
    begin(task, blocking_);
    advance(true);
  }
  void start(const ReductionTask& task) override {
    begin(task, false);
    advance(false);
  }

  bool advance(bool may_wait) override {
    while (step_ != Step::done) {
      if (!under_way_) post();
      under_way_ = true;
      if (!message_.advance(may_wait)) return false;
      under_way_ = false;
      step_ = static_cast<Step>(static_cast<int>(step_) + 1);
    }
    return true;
  }

 private:
  enum class Step { inside, between, back, done };

  void begin(const ReductionTask& task, bool at_once) {
    task_ = task;
    at_once_ = at_once;
    step_ = Step::inside;
    under_way_ = false;
    // A leader's own values stay where the result is for another rank.
    if (group_.leads() && !task.wants_result(comm_.rank())) {
      if (scratch_.bytes() == 0) {
        scratch_ = make_together(comm_, "Reduction", [&] { return Buffer(longest_bytes_); });
      }
      task_.out = scratch_.data();
    }
  }

  void post() {
    if (step_ == Step::inside) return post_inside();
    if (step_ == Step::between) return post_between();
    if (task_.kind == ReductionKind::barrier) return message_.barrier(group_.node, at_once_);
    if (task_.kind == ReductionKind::allreduce) {
      return message_.broadcast(task_, group_.node, at_once_);
    }
    post_to_root();
  }
  void post_inside() {
    if (task_.kind == ReductionKind::barrier) return message_.barrier(group_.node, at_once_);
    ReductionTask task = task_;
    task.root = 0;
    message_.reduce(task, group_.node, at_once_);
  }
  void post_between() {
    if (!group_.leads() || group_.lone()) return;
    if (task_.kind == ReductionKind::barrier) return message_.barrier(*group_.leaders, at_once_);
    ReductionTask task = task_;
    task.in = task.out;
    task.root = nodes_.node_of(task_.root);
    if (task_.kind == ReductionKind::reduce) {
      return message_.reduce(task, *group_.leaders, at_once_);
    }
    message_.allreduce(task, *group_.leaders, at_once_);
  }
  // The result of a reduce goes from the leader of the root's node to the root.
  void post_to_root() {
    const int root = task_.root;
    const int leader = nodes_.ranks_on(nodes_.node_of(root)).front();
    if (root == leader) return;
    if (comm_.rank() == leader) message_.send(task_, root, comm_);
    if (comm_.rank() == root) message_.receive(task_, leader, comm_);
  }

  const Comm& comm_;
  const NodeMap& nodes_;
  NodeGroup group_;
  MpiStep message_;
  bool blocking_;  ///< steps of a task that is run at once
  bool at_once_ = false;
  std::ptrdiff_t longest_bytes_;
  Buffer scratch_;
  ReductionTask task_;
  Step step_ = Step::done;
  bool under_way_ = false;
};

}  // namespace

std::unique_ptr<ReductionRunner> make_reduction_hierarchical(const ReductionProblem& problem) {
  return std::make_unique<Hierarchical>(problem, true);
}

std::unique_ptr<ReductionRunner> make_reduction_hierarchical_nonblocking(
    const ReductionProblem& problem) {
  return std::make_unique<Hierarchical>(problem, false);
}

}  // namespace tailrace
