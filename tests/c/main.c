/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the C face. Usage: mpirun -n 3 test_c_face FOLDER */
#include <stdlib.h>
#include <sys/stat.h>

#include "check.h"

int num_failures = 0;
int this_rank = 0;
int all_ranks = 1;

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[1], "serve") == 0) {
    return serve_this_test(argc - 2, (const char* const*)argv + 2);
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &this_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
  if (argc != 2) {
    fprintf(stderr, "usage: test_c_face FOLDER\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (this_rank == 0) mkdir(argv[1], 0777);
  tailrace_comm* comm = NULL;
  OK(tailrace_comm_create(MPI_COMM_WORLD, &comm));
  test_handles(comm);
  test_layout(comm);
  test_exchange(comm);
  test_reduction(comm);
  test_transform(comm);
  test_output(comm, argv[1]);
  test_output_errors(comm, argv[1]);
  test_trace_and_log(comm, argv[1]);
  test_session(argv[0], argv[1]);
  test_file_and_tuner(comm, argv[1]);
  OK(tailrace_comm_destroy(&comm));
  MPI_Allreduce(MPI_IN_PLACE, &num_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return num_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
