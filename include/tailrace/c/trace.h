/* SPDX-License-Identifier: BSD-3-Clause */
/* Time spans of each rank. See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_TRACE_H
#define TAILRACE_C_TRACE_H

#include <stdint.h>

#include "tailrace/c/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tailrace_activity {
  TAILRACE_COMPUTE = 0,
  TAILRACE_TRANSFER = 1,
  TAILRACE_WRITE = 2,
  TAILRACE_WAIT = 3
};

typedef struct tailrace_trace tailrace_trace;

/* Keeps up to `capacity` spans of this rank; 0 keeps none. Local. */
int tailrace_trace_create(int64_t capacity, tailrace_trace** trace);
/* Destroys the handle; objects that use the trace keep it until they are destroyed. Local. */
int tailrace_trace_destroy(tailrace_trace** trace);
/* Keeps one span; times are seconds of `tailrace_now_s`, `name` is copied the first time it is
   seen; `track` is 0 for the main thread, 1 for the writer. Local. */
int tailrace_trace_record(tailrace_trace* trace, int activity, const char* name, double start_s,
                          double end_s, int track);
/* Seconds recorded for `activity` on `track`. Local. */
int tailrace_trace_total_s(const tailrace_trace* trace, int activity, int track, double* seconds);
/* Writes the spans of all ranks as one file for Chrome and Perfetto on rank 0. Fails with
   TAILRACE_IO on all ranks. Collective, blocking. */
int tailrace_trace_write(const tailrace_trace* trace, const tailrace_comm* comm, const char* path);
/* Time of the library's clock [s]: steady, and common to all processes of a node. Local. */
double tailrace_now_s(void);

#ifdef __cplusplus
}
#endif
#endif
