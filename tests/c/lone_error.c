/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a time loop has a wrong array: the others would wait for ever, so the job ends with a
   line that says why. TAILRACE_PATIENCE_S makes that short. */
#include <stdio.h>

#include "tailrace.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, num_ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  tailrace_comm* comm = NULL;
  tailrace_layout *rows = NULL, *columns = NULL;
  tailrace_exchange* exchange = NULL;
  int status = tailrace_comm_create(MPI_COMM_WORLD, &comm);
  status += tailrace_layout_slabs(2, (int64_t[]){4, 4}, 0, num_ranks, &rows);
  status += tailrace_layout_slabs(2, (int64_t[]){4, 4}, 1, num_ranks, &columns);
  status += tailrace_exchange_create(comm, rows, NULL, columns, NULL, NULL, &exchange);
  if (status != TAILRACE_OK) fprintf(stderr, "%s\n", tailrace_error());
  double u[16] = {0}, v[16];
  int64_t num_items = 0, num_columns = 0;
  tailrace_layout_num_items(rows, rank, &num_items);
  tailrace_layout_num_items(columns, rank, &num_columns);
  if (rank == 1) --num_items;
  status = tailrace_exchange_run(exchange, u, num_items, v, num_columns);
  printf("rank %d went on with status %d\n", rank, status);
  MPI_Finalize();
  return 0;
}
