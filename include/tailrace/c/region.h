/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of a program for `tailrace profile`: total time and MPI share between begin and end.
   Needs only the MPI library: the profiler intercepts MPI_Pcontrol, which MPI itself ignores. For C
   and C++. Call it between MPI_Init and MPI_Finalize, on the thread that called MPI_Init.

     tailrace_region_begin("solve");
     ...
     tailrace_region_end("solve");

   Regions nest. Local; neither blocks nor fails. Without the profiler, it calls an empty function.
 */
#ifndef TAILRACE_REGION_H
#define TAILRACE_REGION_H
#include <mpi.h>

/* Level of MPI_Pcontrol calls that pass a name; the negative level ends the region. */
#define TAILRACE_REGION_LEVEL 0x7A11

/* Begins a region inside the open one, if any. `name` (at most 63 bytes) is copied. */
static inline void tailrace_region_begin(const char* name) {
  (void)MPI_Pcontrol(TAILRACE_REGION_LEVEL, name);
}

/* Ends the innermost open region of this name and those in it. A name that is not open is
   ignored. */
static inline void tailrace_region_end(const char* name) {
  (void)MPI_Pcontrol(-TAILRACE_REGION_LEVEL, name);
}

#endif
