/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "check.h"

void test_handles(const tailrace_comm* comm) {
  int rank = -1;
  OK(tailrace_comm_rank(comm, &rank));
  CHECK(rank == this_rank);
  int num_ranks = 0;
  OK(tailrace_comm_num_ranks(comm, &num_ranks));
  CHECK(num_ranks == all_ranks);
  CHECK(strcmp(tailrace_status_name(TAILRACE_CORRUPT), "corrupt data") == 0);
  CHECK(tailrace_status_name(17) == NULL && tailrace_status_name(-1) == NULL);
  CHECK(strchr(tailrace_version(), '.') != NULL);
  CHECK(tailrace_type_bytes(TAILRACE_COMPLEX128) == 16 && tailrace_type_bytes(99) == 0);

  /* NULL, another kind, destroyed, and what is no handle at all. */
  REFUSED(tailrace_comm_rank(NULL, &rank), TAILRACE_INVALID_INPUT,
          "tailrace_comm_rank: the tailrace_comm given is NULL");
  REFUSED(tailrace_comm_rank(comm, NULL), TAILRACE_INVALID_INPUT, "rank is NULL");
  tailrace_hints* hints = NULL;
  OK(tailrace_hints_create(&hints));
  REFUSED(tailrace_comm_rank((const tailrace_comm*)hints, &rank), TAILRACE_INVALID_INPUT,
          "the tailrace_comm given is a tailrace_hints");
  tailrace_hints* copy = hints;
  OK(tailrace_hints_destroy(&hints));
  CHECK(hints == NULL);
  OK(tailrace_hints_destroy(&hints));
  REFUSED(tailrace_hints_set(copy, "cb_nodes", "2"), TAILRACE_INVALID_INPUT, "destroyed");
  REFUSED(tailrace_hints_destroy(&copy), TAILRACE_INVALID_INPUT, "destroyed");
  int local = 0;
  REFUSED(tailrace_hints_set((tailrace_hints*)&local, "cb_nodes", "2"), TAILRACE_INVALID_INPUT,
          "not a handle of this library");

  /* Communicators. A part lives on when the whole is destroyed. */
  REFUSED(tailrace_comm_create(MPI_COMM_NULL, &(tailrace_comm*){NULL}), TAILRACE_INVALID_INPUT,
          "MPI_COMM_NULL");
  tailrace_comm *whole = NULL, *part = NULL, *node = NULL;
  OK(tailrace_comm_create_fortran(MPI_Comm_c2f(MPI_COMM_WORLD), &whole));
  OK(tailrace_comm_split(whole, this_rank % 2, 0, &part));
  OK(tailrace_comm_node(whole, &node));
  OK(tailrace_comm_destroy(&whole));
  OK(tailrace_comm_num_ranks(part, &num_ranks));
  CHECK(num_ranks == (all_ranks + 1 - this_rank % 2) / 2);
  MPI_Comm raw = MPI_COMM_NULL;
  OK(tailrace_comm_mpi(part, &raw));
  MPI_Comm_size(raw, &num_ranks);
  CHECK(num_ranks == (all_ranks + 1 - this_rank % 2) / 2);
  OK(tailrace_comm_destroy(&part));
  OK(tailrace_comm_destroy(&node));

  int grid[2] = {0, 0};
  const char* why = NULL;
  OK(tailrace_comm_process_grid(comm, (int64_t[]){16, 16, 16}, 8, grid, &why));
  CHECK(grid[0] * grid[1] == all_ranks && strlen(why) > 0);

  /* A wrong argument of one rank fails on all. */
  REFUSED(tailrace_comm_split(comm, this_rank == all_ranks - 1 ? -1 : 0, 0, &part),
          TAILRACE_INVALID_INPUT, "color must not be negative");
  CHECK(tailrace_error_rank() == all_ranks - 1);
}
