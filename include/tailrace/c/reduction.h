/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce, reduce, barrier and dot products by the fastest method. See tailrace.h for the rules
   of all calls. */
#ifndef TAILRACE_C_REDUCTION_H
#define TAILRACE_C_REDUCTION_H

#include <stdint.h>

#include "tailrace/c/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tailrace_op { TAILRACE_SUM = 0, TAILRACE_MIN = 1, TAILRACE_MAX = 2 };

typedef struct tailrace_reduction_options {
  int type; /* TAILRACE_FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, INT32 or INT64: type of the vectors
               used to time methods; default TAILRACE_FLOAT64 */
  int64_t max_items;  /* longest vector; default 1 */
  const char* method; /* "auto" (the fastest measured) or a name */
} tailrace_reduction_options;
tailrace_reduction_options tailrace_reduction_defaults(void);

typedef struct tailrace_reduction tailrace_reduction;

/* Creates a reduction; `options` NULL: the defaults. Fails on all ranks alike:
   TAILRACE_INVALID_INPUT if the method is unknown or does not apply, or the ranks' options differ.
   Collective, blocking. */
int tailrace_reduction_create(const tailrace_comm* comm, const tailrace_reduction_options* options,
                              tailrace_reduction** reduction);
/* Waits for an operation in progress. */
int tailrace_reduction_destroy(tailrace_reduction** reduction);

/* All ranks call the same operations with the same type, op and number of items. `out` is `in`, or
   does not overlap it. Errors in calls are handled as in `tailrace_exchange_run`. Types: the six
   above; complex numbers only with TAILRACE_SUM. */

/* `out` becomes the reduction of `in` over all ranks. Collective, blocking. */
int tailrace_reduction_allreduce(tailrace_reduction* reduction, const void* in, void* out,
                                 int64_t num_items, int type, int op);
/* Replaces `values` of rank `root` by the reduction; other ranks' values are unchanged. Collective,
   blocking. */
int tailrace_reduction_reduce(tailrace_reduction* reduction, void* values, int64_t num_items,
                              int type, int op, int root);
/* Returns after all ranks have called it. Collective, blocking. */
int tailrace_reduction_barrier(tailrace_reduction* reduction);
/* `results[p]` = sum over all ranks of conj(x[p]) * y[p], vectors of `num_items[p]` items of `type`
   (floating-point or complex) on this rank; results have type float64 (complex128). Collective,
   blocking. */
int tailrace_reduction_dots(tailrace_reduction* reduction, int num_pairs, const void* const* x,
                            const void* const* y, const int64_t* num_items, int type,
                            void* results);
/* `out` becomes the reduction over the `num_parts` vectors of this rank's threads and over all
   ranks. Collective, blocking. */
int tailrace_reduction_allreduce_parts(tailrace_reduction* reduction, int num_parts,
                                       const void* const* parts, void* out, int64_t num_items,
                                       int type, int op);

/* The operations above without waiting: start, progress (any number of times), finish. Do not
   change vectors or access results until finish returns. */
int tailrace_reduction_start_allreduce(tailrace_reduction* reduction, const void* in, void* out,
                                       int64_t num_items, int type, int op);
int tailrace_reduction_start_reduce(tailrace_reduction* reduction, void* values, int64_t num_items,
                                    int type, int op, int root);
int tailrace_reduction_start_barrier(tailrace_reduction* reduction);
int tailrace_reduction_start_dots(tailrace_reduction* reduction, int num_pairs,
                                  const void* const* x, const void* const* y,
                                  const int64_t* num_items, int type, void* results);
/* `*done` is 1 when finish would not wait. Local. */
int tailrace_reduction_progress(tailrace_reduction* reduction, int* done);
/* Collective, blocking. */
int tailrace_reduction_finish(tailrace_reduction* reduction);

/* Name of the method, and why it was chosen. Local. */
int tailrace_reduction_method(const tailrace_reduction* reduction, const char** name);
int tailrace_reduction_why(const tailrace_reduction* reduction, const char** text);
int tailrace_reduction_buffer_bytes(const tailrace_reduction* reduction, int64_t* num_bytes);
/* An entry of the table of methods, as in `tailrace_exchange_method_info`. Local. */
int tailrace_reduction_method_info(int index, const char** name, const char** summary);

#ifdef __cplusplus
}
#endif
#endif
