// SPDX-License-Identifier: BSD-3-Clause
// A tool of somebody else, as tools are: it counts calls, makes them by PMPI_x, and says at the end
// how often all ranks made them ("TOOL name count").
#include <mpi.h>
#include <stdio.h>

enum { inits, barriers, allreduces, sends, opens, num_counts };
static const char* const names[num_counts] = {"MPI_Init", "MPI_Barrier", "MPI_Allreduce",
                                              "MPI_Send", "MPI_File_open"};
static int counts[num_counts];

int MPI_Init(int* argc, char*** argv) {
  ++counts[inits];
  return PMPI_Init(argc, argv);
}
int MPI_Init_thread(int* argc, char*** argv, int level, int* got) {
  ++counts[inits];
  return PMPI_Init_thread(argc, argv, level, got);
}
int MPI_Barrier(MPI_Comm comm) {
  ++counts[barriers];
  return PMPI_Barrier(comm);
}
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++counts[allreduces];
  return PMPI_Allreduce(in, out, count, type, op, comm);
}
int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++counts[sends];
  return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_File_open(MPI_Comm comm, const char* path, int mode, MPI_Info info, MPI_File* file) {
  ++counts[opens];
  return PMPI_File_open(comm, path, mode, info, file);
}
int MPI_Finalize(void) {
  int rank = 0;
  int all[num_counts];
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(counts, all, num_counts, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; i < num_counts && rank == 0; ++i) printf("TOOL %s %d\n", names[i], all[i]);
  return PMPI_Finalize();
}
