/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads variables of HDF5 and NetCDF-4 files on any number of ranks. See tailrace.h for the rules
   of all calls. */
#ifndef TAILRACE_C_INPUT_H
#define TAILRACE_C_INPUT_H

#include <stdint.h>

#include "tailrace/c/hints.h"
#include "tailrace/c/layout.h"
#include "tailrace/c/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tailrace_input_options {
  int group_size;              /* ranks that share a reader; 0 (default): up to 16 readers */
  int64_t buffer_bytes;        /* buffer of a reader; default 16 MiB */
  int checks;                  /* verify the checksums in the file; default 1 */
  const tailrace_hints* hints; /* may be NULL */
  const tailrace_trace* trace; /* may be NULL */
} tailrace_input_options;
tailrace_input_options tailrace_input_defaults(void);

/* The cost of reading so far, on this rank. */
typedef struct tailrace_input_statistics {
  int64_t opens, reads, bytes_read, checked;
  double io_s, move_s;
} tailrace_input_statistics;

typedef struct tailrace_input tailrace_input;

/* Opens `path`; `options` NULL: the defaults. Fails on all ranks alike: TAILRACE_IO (errno) if it
   is missing, TAILRACE_CORRUPT if it is not a complete HDF5 file. Collective, blocking. */
int tailrace_input_open(const tailrace_comm* comm, const char* path,
                        const tailrace_input_options* options, tailrace_input** input);
/* Closes the file. Collective, blocking. */
int tailrace_input_destroy(tailrace_input** input);

/* Number and names of the readable variables, without coordinates; `index` counts from 0. Local. */
int tailrace_input_num_names(const tailrace_input* input, int64_t* num_names);
int tailrace_input_name(const tailrace_input* input, int64_t index, const char** name);
/* Number of axes, extents, and the type that can hold every item. TAILRACE_INVALID_INPUT if the
   variable is absent; the text lists the names. Local. */
int tailrace_input_extents(const tailrace_input* input, const char* name, int* num_dims,
                           int64_t extents[TAILRACE_MAX_DIMS]);
int tailrace_input_type(const tailrace_input* input, const char* name, int* type);
/* Attributes of the file. At most `max_values` items of a list are copied; `*num_values` is its
   length. TAILRACE_INVALID_INPUT if the attribute is absent or of another kind. Local. */
int tailrace_input_has_attribute(const tailrace_input* input, const char* name, int* has);
int tailrace_input_attribute_int(const tailrace_input* input, const char* name, int64_t* value);
int tailrace_input_attribute_double(const tailrace_input* input, const char* name, double* value);
int tailrace_input_attribute_text(const tailrace_input* input, const char* name,
                                  const char** value);
int tailrace_input_attribute_doubles(const tailrace_input* input, const char* name,
                                     int64_t max_values, double* values, int64_t* num_values);
/* Numbers of an attribute as items of `type`, converted as in tailrace_input_read; a single number
   is a list of one. */
int tailrace_input_attribute_numbers(const tailrace_input* input, const char* name, int type,
                                     int64_t max_values, void* values, int64_t* num_values);
/* String number `index` (from 0) of an attribute with `*num_values` strings; a single string is a
   list of one. */
int tailrace_input_attribute_text_of_list(const tailrace_input* input, const char* name,
                                          int64_t index, const char** value, int64_t* num_values);
/* Values of a coordinate, copied like the lists above. Local. */
int tailrace_input_coordinate(const tailrace_input* input, const char* name, int64_t max_values,
                              double* values, int64_t* num_values);

/* Fills this rank's part of `layout`, an array of `num_items` items of `type` with the layout
   `memory` (NULL: dense), for any number of ranks that wrote the file. Numbers are converted to
   `type`. Fails with TAILRACE_INVALID_INPUT if a number does not fit, and with TAILRACE_CORRUPT if
   data does not match its checksum. Fails on all ranks alike. Collective, blocking. */
int tailrace_input_read(tailrace_input* input, const char* name, int type,
                        const tailrace_layout* layout, const tailrace_memory* memory, void* data,
                        int64_t num_items);
/* Fills `data` of every rank with the whole array of `num_items` items. Collective, blocking. */
int tailrace_input_read_all(tailrace_input* input, const char* name, int type, void* data,
                            int64_t num_items);
/* Statistics of this rank (local), and sums over all ranks (times: the longest; collective,
   blocking). */
int tailrace_input_get_statistics(const tailrace_input* input,
                                  tailrace_input_statistics* statistics);
int tailrace_input_get_total_statistics(const tailrace_input* input,
                                        tailrace_input_statistics* statistics);

#ifdef __cplusplus
}
#endif
#endif
