/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files of named arrays, written while the program computes. See tailrace.h for the rules of
   all calls. */
#ifndef TAILRACE_C_OUTPUT_H
#define TAILRACE_C_OUTPUT_H

#include <stdint.h>

#include "tailrace/c/hints.h"
#include "tailrace/c/layout.h"
#include "tailrace/c/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is written to a file: a list that is made once, and changed from step to step. Setting
   a name again replaces what it had. All local. */
typedef struct tailrace_contents tailrace_contents;

int tailrace_contents_create(tailrace_contents** contents);
int tailrace_contents_destroy(tailrace_contents** contents);
/* Number of the step, named in error messages; default 0. */
int tailrace_contents_step(tailrace_contents* contents, int64_t step);
/* An array of `type`: `data` is this rank's part of `layout`, `num_items` items that lie as
   `memory` says (NULL: dense). Refers to `data`, which must live until the call that writes has
   returned. Dimensions are named x, or y, x, or z, y, x, unless `tailrace_contents_dims` says
   otherwise. */
int tailrace_contents_variable(tailrace_contents* contents, const char* name, int type,
                               const tailrace_layout* layout, const tailrace_memory* memory,
                               const void* data, int64_t num_items);
/* Names of the dimensions of variable `name`, slowest first. */
int tailrace_contents_dims(tailrace_contents* contents, const char* name, int num_dims,
                           const char* const* dims);
/* A small array that every rank has alike (coordinates, tables), copied; `name` is of an axis. */
int tailrace_contents_coordinate(tailrace_contents* contents, const char* name,
                                 const double* values, int64_t num_values);
/* The same of numbers of `type`. */
int tailrace_contents_coordinate_numbers(tailrace_contents* contents, const char* name, int type,
                                         const void* values, int64_t num_values);
/* One number of `type` that every rank has alike: a variable without a dimension. */
int tailrace_contents_number(tailrace_contents* contents, const char* name, int type,
                             const void* value);
/* Attributes of the variable or coordinate `of`, or (`of` NULL) of the file; copied. They keep
   their type, and `_FillValue` gets that of the variable. A list of one item is a list. */
int tailrace_contents_attribute_int(tailrace_contents* contents, const char* of, const char* name,
                                    int64_t value);
int tailrace_contents_attribute_double(tailrace_contents* contents, const char* of,
                                       const char* name, double value);
int tailrace_contents_attribute_doubles(tailrace_contents* contents, const char* of,
                                        const char* name, const double* values, int64_t num_values);
int tailrace_contents_attribute_text(tailrace_contents* contents, const char* of, const char* name,
                                     const char* value);
int tailrace_contents_attribute_number(tailrace_contents* contents, const char* of,
                                       const char* name, int type, const void* value);
int tailrace_contents_attribute_numbers(tailrace_contents* contents, const char* of,
                                        const char* name, int type, const void* values,
                                        int64_t num_values);
int tailrace_contents_attribute_texts(tailrace_contents* contents, const char* of, const char* name,
                                      int num_texts, const char* const* texts);
int tailrace_contents_attribute_bool(tailrace_contents* contents, const char* of, const char* name,
                                     int value);

enum tailrace_output_mode {
  TAILRACE_SYNCHRONOUS = 0, /* writes inside the call */
  TAILRACE_HIDDEN = 1       /* copies; a background thread of each writer does the rest */
};

typedef struct tailrace_output_options {
  int mode;             /* default TAILRACE_HIDDEN */
  const char* strategy; /* "auto", "spokesperson", "collective", "shared_independent", "grouped",
                           "file_per_rank" */
  const tailrace_hints* hints; /* may be NULL; they override the numbers below */
  int writers;                 /* writer ranks; 0 (default) = up to 4 per node */
  int64_t stripe_bytes; /* file domains end at multiples of it; default 1 MiB, 0 = even shares */
  int buffered_files;   /* files that may be unfinished before a write waits; default 2 */
  const char* method; /* how data moves to the writers: "auto", "push", or a method of exchanges */
  int checksums;      /* of each piece, kept in the file; default 1 */
  const tailrace_trace* trace; /* may be NULL */
} tailrace_output_options;
tailrace_output_options tailrace_output_defaults(void);

/* What output has cost the program so far, and the outcome of the steps. On this rank. */
typedef struct tailrace_output_statistics {
  int64_t steps;    /* writes that took their step */
  int64_t complete; /* steps known to be complete on disk */
  int64_t dropped, thinned, lowered, spilled, failed;
  int64_t bytes;         /* given to write by this rank */
  int64_t written_bytes; /* by this rank's writer */
  int64_t writes;        /* system calls that wrote */
  int64_t opens;         /* files opened for writing */
  int64_t slowest_step;  /* -1: none yet */
  double run_s;          /* since the output was made */
  double call_s;         /* inside calls: what the program saw */
  double agree_s;        /* of it, waiting for the other ranks of the call */
  double copy_s;         /* of it, laying files out and copying into staging memory */
  double room_s;         /* of it, waiting for room in staging memory */
  double end_s;          /* of it, waiting for files to be complete */
  double stall_s;        /* room_s + end_s */
  double write_s;        /* spent writing (in the background if hidden) */
  double writer_cpu_s;   /* processor time of it and of products; NaN where several servers write */
  double slowest_s;      /* longest time until a step was safe on disk */
  double hidden_fraction; /* share of copying and writing that the program did not see */
} tailrace_output_statistics;

typedef struct tailrace_output tailrace_output;

/* `options` NULL: the defaults. TAILRACE_INVALID_INPUT on all ranks. Collective, blocking. */
int tailrace_output_create(const tailrace_comm* comm, const tailrace_output_options* options,
                           tailrace_output** output);
/* Writes `contents` to `path`, which is either absent, the previous complete file, or the new one.
   When it returns, the arrays may be changed. Fails on all ranks alike: TAILRACE_INVALID_INPUT for
   wrong contents; TAILRACE_IO (errno, rank, path, step) for this file (synchronous) or for an
   earlier one (hidden: nothing of `contents` has then been written, and the call may be repeated).
   Collective, blocking for the copy only if hidden. */
int tailrace_output_write(tailrace_output* output, const char* path,
                          const tailrace_contents* contents);
/* Lets unfinished files get their final names; call it once per step, on all ranks. Local. */
int tailrace_output_progress(tailrace_output* output);
/* Waits until every file has its final name; fails as write does. Collective, blocking. */
int tailrace_output_finish(tailrace_output* output);
int tailrace_output_get_statistics(const tailrace_output* output,
                                   tailrace_output_statistics* statistics);
/* Path of the last file known to be complete, or "". Local. */
int tailrace_output_last_complete(const tailrace_output* output, const char** path);
/* Waits for unfinished files; errors found now are only printed (or put into the log), so call
   finish first. Collective, blocking. */
int tailrace_output_destroy(tailrace_output** output);

/* Writes (rank 0) an XDMF file that shows `num_files` files, of these times [s], of a uniform grid
   of `extents` (z, y, x) and `spacing` to ParaView. TAILRACE_IO on all ranks. Collective, blocking.
 */
int tailrace_write_xdmf(const tailrace_comm* comm, const char* path, int num_files,
                        const char* const* files, const double* times_s, int num_variables,
                        const char* const* variables, const int64_t extents[3],
                        const double spacing[3], int type);

#ifdef __cplusplus
}
#endif
#endif
