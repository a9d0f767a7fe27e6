/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of the library. See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_COMM_H
#define TAILRACE_C_COMM_H

#include <mpi.h>
#include <stdint.h>

#include "tailrace/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tailrace_comm tailrace_comm;
typedef int tailrace_fint; /* Fortran's INTEGER; the ABI of MPI 5 has no name for this type */

/* Duplicates `user` and sets MPI_ERRORS_RETURN; the handle owns the duplicate. Collective over
   `user`, blocking. */
int tailrace_comm_create(MPI_Comm user, tailrace_comm** comm);
/* Like `tailrace_comm_create`, from a communicator of Fortran (an INTEGER, or mpi_f08's
   comm%mpi_val). */
int tailrace_comm_create_fortran(tailrace_fint user, tailrace_comm** comm);
/* The ranks of the same `color`, ordered by `key`, then rank. Collective, blocking. */
int tailrace_comm_split(const tailrace_comm* comm, int color, int key, tailrace_comm** part);
/* The ranks that share this rank's node. Collective, blocking. */
int tailrace_comm_node(const tailrace_comm* comm, tailrace_comm** node);
/* This rank and the number of ranks. Local. */
int tailrace_comm_rank(const tailrace_comm* comm, int* rank);
int tailrace_comm_num_ranks(const tailrace_comm* comm, int* num_ranks);
/* The duplicate itself, for MPI calls; destroying the handle frees it. Local. */
int tailrace_comm_mpi(const tailrace_comm* comm, MPI_Comm* raw);
int tailrace_comm_mpi_fortran(const tailrace_comm* comm, tailrace_fint* raw);
/* Destroys the handle. Collective if this is the last use of the communicator. */
int tailrace_comm_destroy(tailrace_comm** comm);

/* Chooses a grid of `grid[0]` x `grid[1]` ranks for transposes of a 3D array (`extents`, items of
   `item_bytes`) from the placement of the ranks. Sets `why` (may be NULL) to the reason, a text
   owned by `comm`. Collective, blocking. */
int tailrace_comm_process_grid(const tailrace_comm* comm, const int64_t extents[3],
                               int64_t item_bytes, int grid[2], const char** why);

#ifdef __cplusplus
}
#endif
#endif
