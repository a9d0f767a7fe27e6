// SPDX-License-Identifier: BSD-3-Clause
#include "common/run_main.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

#include "tailrace/more/launched_alone.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::app {

namespace {

constexpr double patience_s = 10;

int report(const Comm& comm, const Comm& quiet, const char* name, const std::exception& error) {
  fail_together(quiet, name, error);
  if (comm.rank() == 0) std::fprintf(stderr, "%s: error: %s\n", name, error.what());
  return 1;
}

int run_guarded(const char* name, const std::function<int(const Comm&)>& program) {
  const Comm comm(MPI_COMM_WORLD);
  const Comm quiet(MPI_COMM_WORLD);
  try {
    return program(comm);
  } catch (const std::exception& error) {
    return report(comm, quiet, name, error);
  }
}

}  // namespace

void fail_together(const Comm& quiet, const char* name, const std::exception& error) {
  MPI_Request all_here = MPI_REQUEST_NULL;
  int done = 0;
  const double start = now_s();
  if (MPI_Ibarrier(quiet.raw(), &all_here) == MPI_SUCCESS) {
    while (done == 0 && now_s() - start < patience_s) {
      if (MPI_Test(&all_here, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
      if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  if (done != 0) return;
  std::fprintf(stderr, "%s: error on rank %d alone: %s\n", name, quiet.rank(), error.what());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int run_main(int& argc, char**& argv, const char* name,
             const std::function<int(const Comm&)>& program) {
  int provided = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 1;
  const int code = refuses_to_run_alone(name) ? 1 : run_guarded(name, program);
  MPI_Finalize();
  return code;
}

}  // namespace tailrace::app
