// SPDX-License-Identifier: BSD-3-Clause
// Goes to another folder before MPI starts, and back and there again before it ends.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  if (chdir("..") != 0 || chdir(argv[1]) != 0) return 3;
  MPI_Finalize();
  return 0;
}
