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
  require(status == MPI_SUCCESS, "what is given is no communicator; was it freed?");
  require(joins_two == 0, "an intercommunicator is given; pass one of a single group of ranks");
}

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

int tailrace_comm_create(MPI_Comm user, tailrace_comm** comm) {
  return guarded(__func__, [&] {
    require_address(comm, "comm");
    require_communicator(user);
    put(comm, std::make_shared<Comm>(user));
  });
}

int tailrace_comm_create_fortran(MPI_Fint user, tailrace_comm** comm) {
  return guarded(__func__, [&] {
    require_address(comm, "comm");
    const MPI_Comm raw = MPI_Comm_f2c(user);
    require_communicator(raw);
    put(comm, std::make_shared<Comm>(raw));
  });
}

int tailrace_comm_split(const tailrace_comm* comm, int color, int key, tailrace_comm** part) {
  return guarded(__func__, [&] {
    const auto whole = get(comm);
    require_address(part, "part");
    prepare_together(*whole, [&] { require(color >= 0, "color must not be negative"); });
    put(part, std::make_shared<Comm>(whole->split(color, key)));
  });
}

int tailrace_comm_node(const tailrace_comm* comm, tailrace_comm** node) {
  return guarded(__func__, [&] {
    const auto whole = get(comm);
    require_address(node, "node");
    put(node, std::make_shared<Comm>(whole->node().duplicate()));
  });
}

int tailrace_comm_rank(const tailrace_comm* comm, int* rank) {
  return guarded(__func__, [&] {
    require_address(rank, "rank");
    *rank = get(comm)->rank();
  });
}

int tailrace_comm_num_ranks(const tailrace_comm* comm, int* num_ranks) {
  return guarded(__func__, [&] {
    require_address(num_ranks, "num_ranks");
    *num_ranks = get(comm)->num_ranks();
  });
}

int tailrace_comm_mpi(const tailrace_comm* comm, MPI_Comm* raw) {
  return guarded(__func__, [&] {
    require_address(raw, "raw");
    *raw = get(comm)->raw();
  });
}

int tailrace_comm_mpi_fortran(const tailrace_comm* comm, MPI_Fint* raw) {
  return guarded(__func__, [&] {
    require_address(raw, "raw");
    *raw = MPI_Comm_c2f(get(comm)->raw());
  });
}

int tailrace_comm_destroy(tailrace_comm** comm) {
  return guarded(__func__, [&] {
    require_address(comm, "comm");
    end(comm);
  });
}

int tailrace_comm_process_grid(const tailrace_comm* comm, const int64_t extents[3],
                               int64_t item_bytes, int grid[2], const char** why) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
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
    if (why != nullptr) *why = text_of(comm, choice.why);
  });
}
