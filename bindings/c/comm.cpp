// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/c/comm.h"

#include <algorithm>

#include "objects.hpp"
#include "tailrace/more/process_grid.hpp"

namespace tailrace::c {

void require_communicator(MPI_Comm raw) {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  require(initialized != 0, "MPI is not initialized yet");
  require(finalized == 0, "MPI is finalized");
  require(raw != MPI_COMM_NULL, "the communicator is MPI_COMM_NULL");
  // MPI tells errors of what is no communicator to the handler of MPI_COMM_WORLD, which as a rule
  // ends the job.
  MPI_Errhandler kept = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &kept);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int joins_two = 0;
  const int status = MPI_Comm_test_inter(raw, &joins_two);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, kept);
  MPI_Errhandler_free(&kept);
  require(status == MPI_SUCCESS, "the argument is not a communicator; was it freed?");
  require(joins_two == 0, "an intercommunicator is given; pass an intracommunicator");
}

namespace {

Made<tailrace_comm> comm_create(MPI_Comm user) {
  require_communicator(user);
  return std::make_shared<Comm>(user);
}

Made<tailrace_comm> comm_create_fortran(tailrace_fint user) {
  return comm_create(comm_of_fortran(user));
}

Made<tailrace_comm> comm_split(Ref<tailrace_comm> whole, int color, int key) {
  prepare_together(*whole, [&] { require(color >= 0, "color must not be negative"); });
  return std::make_shared<Comm>(whole->split(color, key));
}

Made<tailrace_comm> comm_node(Ref<tailrace_comm> whole) {
  return std::make_shared<Comm>(whole->node().duplicate());
}

int comm_rank(Ref<tailrace_comm> comm) { return comm->rank(); }

int comm_num_ranks(Ref<tailrace_comm> comm) { return comm->num_ranks(); }

MPI_Comm comm_mpi(Ref<tailrace_comm> comm) { return comm->raw(); }

tailrace_fint comm_mpi_fortran(Ref<tailrace_comm> comm) {
#ifdef MPI_ABI
  return MPI_Comm_toint(comm->raw());
#else
  return MPI_Comm_c2f(comm->raw());
#endif
}

std::string comm_process_grid(Ref<tailrace_comm> ranks, const int64_t extents[3],
                              int64_t item_bytes, int grid[2]) {
  GridProblem problem;
  problem.item_bytes = item_bytes;
  prepare_together(*ranks, [&] {
    require_address(grid, "grid");
    require(item_bytes >= 1 && item_bytes <= 1 << 30, "item_bytes must be 1 to 2^30");
    std::ranges::copy(list(extents, 3, "extents"), problem.extents.begin());
  });
  const NodeMap nodes(*ranks);
  GridChoice choice;
  prepare_together(*ranks, [&] { choice = choose_process_grid(problem, nodes); });
  std::ranges::copy(choice.grid, grid);
  return choice.why;
}

}  // namespace

}  // namespace tailrace::c

#include "calls/comm.inc"
