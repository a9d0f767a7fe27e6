// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <exception>

#include <mpi.h>

namespace tailrace {

/// The main function of a test program: `run(argc, argv)` between MPI's start and end; its exit
/// status, or the end of the job by an exception, which is printed after `name`.
template <class Run>
int mpi_main(const char* name, int argc, char** argv, Run&& run) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 1;
  try {
    status = run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

}  // namespace tailrace
