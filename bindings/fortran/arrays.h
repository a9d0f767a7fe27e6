/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran arrays by their C descriptors, where the functions of tailrace.h want addresses and
   sizes. Nothing is copied. Fortran calls these; see the module tailrace. */
#ifndef TAILRACE_FORTRAN_ARRAYS_H
#define TAILRACE_FORTRAN_ARRAYS_H

#include <ISO_Fortran_binding.h>

#include "tailrace.h"

/* Ends the job with a message. */
void tailrace_f_stop(const char* text);

/* How an array lies in memory, axes in the order of files (slowest first), for exchanges. `strides`
   are in items. Refused: steps backwards, and parts of items. Local. */
int tailrace_f_memory(const CFI_cdesc_t* array, tailrace_memory** memory, int* num_dims,
                      int64_t strides[TAILRACE_MAX_DIMS]);

/* Runs (`start` 0) or starts an exchange of `num_fields` fields, which are the last axis of the
   arrays if there are several, of items of `item_bytes`. An array is contiguous, or (`num_dims` >
   0) has these strides. Collective. */
int tailrace_f_exchange(tailrace_exchange* exchange, int start, int num_fields, int64_t item_bytes,
                        const CFI_cdesc_t* source, int source_dims, const int64_t* source_strides,
                        const CFI_cdesc_t* destination, int destination_dims,
                        const int64_t* destination_strides);

/* A variable of a file: an array, or a section of one, with the shape of `rank`'s box. Local. */
int tailrace_f_variable(tailrace_contents* contents, const char* name,
                        const tailrace_layout* layout, int rank, const CFI_cdesc_t* array);
/* Writes a file of one such variable. A wrong array is refused on all ranks together. Collective.
 */
int tailrace_f_write(tailrace_output* output, const char* path, const char* name,
                     const tailrace_layout* layout, int rank, const CFI_cdesc_t* array);
/* Reads into an array, or a section of one. Collective. */
int tailrace_f_read(tailrace_input* input, const char* name, const tailrace_layout* layout,
                    int rank, const CFI_cdesc_t* array);
/* Reads all into an array of every rank, which is contiguous. Collective. */
int tailrace_f_read_all(tailrace_input* input, const char* name, const CFI_cdesc_t* array);

/* Reduces a contiguous array in place: to all ranks or to `root`. Collective. */
int tailrace_f_reduce(tailrace_reduction* reduction, int start, int to_all,
                      const CFI_cdesc_t* values, int op, int root);
/* `result` (real64 or complex(real64)) becomes the sum of conjg(x) * y over all ranks. Collective.
 */
int tailrace_f_dot(tailrace_reduction* reduction, const CFI_cdesc_t* x, const CFI_cdesc_t* y,
                   const CFI_cdesc_t* result);

/* Transforms contiguous arrays, whose last axis is that of the fields if `num_fields` > 1.
   Collective. */
int tailrace_f_transform(tailrace_transform* transform, int backward, int num_fields, int type,
                         const CFI_cdesc_t* fields, const CFI_cdesc_t* modes);
/* The same of one array with any axes. `type`: of the field. Collective. */
int tailrace_f_array_transform(tailrace_array_transform* transform, int backward, int type,
                               const CFI_cdesc_t* field, const CFI_cdesc_t* modes);
/* The same without an object; the type of `options` is that of the field. Collective. */
int tailrace_f_fft(const tailrace_comm* comm, int backward, int num_dims, const int64_t* extents,
                   const tailrace_array_transform_options* options, const CFI_cdesc_t* field,
                   const CFI_cdesc_t* modes);

#endif
