// SPDX-License-Identifier: BSD-3-Clause
// MPI's own collectives: MPI_Allreduce, MPI_Reduce, MPI_Barrier, or the non-blocking ones.
#include "move/allreduce/mpi_step.hpp"
#include "move/allreduce/reducer.hpp"

namespace tailrace {

namespace {

class Mpi : public ReductionRunner {
 public:
  explicit Mpi(const ReductionProblem& problem)
      : comm_(problem.comm), step_(problem.machine.waiting) {}

  std::ptrdiff_t piece_bytes() const override { return std::ptrdiff_t{1} << 30; }
  void run(const ReductionTask& task) override {
    step_.start(task, comm_, true);
    step_.advance(true);
  }
  void start(const ReductionTask& task) override { step_.start(task, comm_, false); }
  bool advance(bool may_wait) override { return step_.advance(may_wait); }
  bool needs_calls() const override { return false; }

 private:
  const Comm& comm_;
  MpiStep step_;
};

}  // namespace

std::unique_ptr<ReductionRunner> make_reduction_mpi(const ReductionProblem& problem) {
  return std::make_unique<Mpi>(problem);
}

}  // namespace tailrace
