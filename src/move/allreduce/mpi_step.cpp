// SPDX-License-Identifier: BSD-3-Clause
#include "move/allreduce/mpi_step.hpp"

#include "core/wait.hpp"
#include "move/allreduce/reducer.hpp"

namespace tailrace {
namespace {

// The blocking MPI_Reduce of MPICH 4.0 crashes where a root other than 0 reduces in place.
#ifdef MPICH_NUMVERSION
constexpr bool any_root_may_reduce_in_place = false;
#else
constexpr bool any_root_may_reduce_in_place = true;
#endif

}  // namespace

void MpiStep::allreduce(const ReductionTask& task, const Comm& comm, bool at_once) {
  const void* in = task.in == task.out ? MPI_IN_PLACE : task.in;
  const int count = to_int(task.num_items);
  const auto type = mpi_type(task.type);
  const auto op = mpi_op(task.op);
  check_mpi(inside(at_once) ? MPI_Allreduce(in, task.out, count, type, op, comm.raw())
                            : MPI_Iallreduce(in, task.out, count, type, op, comm.raw(), &request_));
}

void MpiStep::reduce(const ReductionTask& task, const Comm& comm, bool at_once) {
  const bool in_place = task.in == task.out && comm.rank() == task.root;
  const void* in = in_place ? MPI_IN_PLACE : task.in;
  const int count = to_int(task.num_items);
  const auto type = mpi_type(task.type);
  const auto op = mpi_op(task.op);
  const bool usable = any_root_may_reduce_in_place || task.root == 0;
  check_mpi(inside(at_once) && usable
                ? MPI_Reduce(in, task.out, count, type, op, task.root, comm.raw())
                : MPI_Ireduce(in, task.out, count, type, op, task.root, comm.raw(), &request_));
}

void MpiStep::barrier(const Comm& comm, bool at_once) {
  check_mpi(inside(at_once) ? MPI_Barrier(comm.raw()) : MPI_Ibarrier(comm.raw(), &request_));
}

void MpiStep::broadcast(const ReductionTask& task, const Comm& comm, bool at_once) {
  const int count = to_int(task.num_items);
  const auto type = mpi_type(task.type);
  check_mpi(inside(at_once) ? MPI_Bcast(task.out, count, type, 0, comm.raw())
                            : MPI_Ibcast(task.out, count, type, 0, comm.raw(), &request_));
}

void MpiStep::send(const ReductionTask& task, int peer, const Comm& comm) {
  check_mpi(MPI_Isend(task.out, to_int(task.num_items), mpi_type(task.type), peer, 0, comm.raw(),
                      &request_));
}

void MpiStep::receive(const ReductionTask& task, int peer, const Comm& comm) {
  check_mpi(MPI_Irecv(task.out, to_int(task.num_items), mpi_type(task.type), peer, 0, comm.raw(),
                      &request_));
}

void MpiStep::start(const ReductionTask& task, const Comm& comm, bool at_once) {
  switch (task.kind) {
    case ReductionKind::allreduce:
      return allreduce(task, comm, at_once);
    case ReductionKind::reduce:
      return reduce(task, comm, at_once);
    case ReductionKind::barrier:
      return barrier(comm, at_once);
  }
}

bool MpiStep::advance(bool may_wait) {
  if (request_ == MPI_REQUEST_NULL) return true;
  if (may_wait) {
    wait_for(request_, waiting_);
    return true;
  }
  return is_done(request_);
}

// MPI's own collectives: MPI_Allreduce, MPI_Reduce, MPI_Barrier, or the non-blocking ones.

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
