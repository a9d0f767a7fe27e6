// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "driver.hpp"

namespace bench {

inline double all_reduce(double own, MPI_Op operation, MPI_Comm comm = MPI_COMM_WORLD) {
  double all = own;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, operation, comm);
  return all;
}
inline double all_max(double own, MPI_Comm comm = MPI_COMM_WORLD) {
  return all_reduce(own, MPI_MAX, comm);
}

/// `time_runs` over all ranks: each run starts together and counts until the last rank is done.
template <class Action>
std::vector<double> time_together(int warmups, int repeats, Action action) {
  return time_runs(
      warmups, repeats, action, [] { MPI_Barrier(MPI_COMM_WORLD); },
      [](double own) { return all_max(own); });
}

/// MPI from construction to destruction.
class MpiProgram {
 public:
  MpiProgram(int* argc, char*** argv, int level = MPI_THREAD_FUNNELED) {
    int provided = 0;
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  }
  ~MpiProgram() { MPI_Finalize(); }
  MpiProgram(const MpiProgram&) = delete;
  MpiProgram& operator=(const MpiProgram&) = delete;

  int rank = 0;
  int num_ranks = 1;
};

/// A driver's `main`: MPI and arguments around `body(program, args)`. A failure of one rank ends
/// all, as nobody knows where the others are.
template <class Body>
int run_program(const char* name, int argc, char** argv, Body body) {
  const MpiProgram program(&argc, &argv);
  const char* asked = std::getenv("TAILRACE_RANKS");
  if (asked != nullptr && program.num_ranks < std::atoi(asked)) {
    std::fprintf(stderr, "%s: %s ranks were asked for, but MPI_COMM_WORLD has %d\n", name, asked,
                 program.num_ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  try {
    body(program, Arguments(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}

}  // namespace bench
