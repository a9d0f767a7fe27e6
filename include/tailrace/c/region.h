/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of a program for `tailrace profile`: times and the part of MPI between begin and end.
   Needs no library but MPI's: the profile sees the calls of MPI_Pcontrol, which MPI itself ignores.
   For C and C++. Call it between MPI_Init and MPI_Finalize, on the thread that called MPI_Init.

     tailrace_region_begin("solve");
     ...
     tailrace_region_end("solve");

   Regions nest. Local, neither blocks nor fails; without the profiler a call of an empty function.
 */
#ifndef TAILRACE_REGION_H
#define TAILRACE_REGION_H
#include <mpi.h>

/* A level of MPI_Pcontrol that is followed by a name; its negative ends the region. */
#define TAILRACE_REGION_LEVEL 0x7A11

/* Begins a region inside the one that is open, if any. `name` (at most 63 bytes) is copied. */
static inline void tailrace_region_begin(const char* name) {
  (void)MPI_Pcontrol(TAILRACE_REGION_LEVEL, name);
}

/* Ends the innermost open region of this name and those in it. One that is not open is left out. */
static inline void tailrace_region_end(const char* name) {
  (void)MPI_Pcontrol(-TAILRACE_REGION_LEVEL, name);
}

#endif
