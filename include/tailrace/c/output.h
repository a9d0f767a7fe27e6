/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of named arrays, and products of them, written while the program computes. See tailrace.h
   for the rules of all calls. */
#ifndef TAILRACE_C_OUTPUT_H
#define TAILRACE_C_OUTPUT_H

#include <stdint.h>

#include "tailrace/c/hints.h"
#include "tailrace/c/layout.h"
#include "tailrace/c/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Contents of a file: a list that is created once and updated for each step. Setting a name again
   replaces its entry. All local. */
typedef struct tailrace_contents tailrace_contents;

int tailrace_contents_create(tailrace_contents** contents);
int tailrace_contents_destroy(tailrace_contents** contents);
/* Number of the step, named in error messages; default 0. */
int tailrace_contents_step(tailrace_contents* contents, int64_t step);
/* Adds an array of `type`: `data` is this rank's part of `layout`, with `num_items` items in the
   layout `memory` (NULL: dense). `data` is not copied; it must live until the call that writes has
   returned. Dimensions are named x, or y, x, or z, y, x, unless `tailrace_contents_dims` sets other
   names. */
int tailrace_contents_variable(tailrace_contents* contents, const char* name, int type,
                               const tailrace_layout* layout, const tailrace_memory* memory,
                               const void* data, int64_t num_items);
/* Sets the names of the dimensions of variable `name`, slowest first. */
int tailrace_contents_dims(tailrace_contents* contents, const char* name, int num_dims,
                           const char* const* dims);
/* Sets the compression of variable `name`, in the form of `compress` of `tailrace_output_options`,
   which applies if this is ""; "none": off. */
int tailrace_contents_compress(tailrace_contents* contents, const char* name, const char* how);
/* Adds a small array that is identical on all ranks (coordinates, tables); it is copied. `name` is
   the name of an axis. */
int tailrace_contents_coordinate(tailrace_contents* contents, const char* name,
                                 const double* values, int64_t num_values);
/* Adds a small array of numbers of `type` that is identical on all ranks. */
int tailrace_contents_coordinate_numbers(tailrace_contents* contents, const char* name, int type,
                                         const void* values, int64_t num_values);
/* Adds one number of `type`, identical on all ranks, as a variable without dimensions. */
int tailrace_contents_number(tailrace_contents* contents, const char* name, int type,
                             const void* value);
/* Add attributes to the variable or coordinate `of`, or (`of` NULL) to the file; they are copied.
   They keep their type, but `_FillValue` gets that of the variable. A list of one item remains a
   list. */
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

/* The box of a variable on a server or writer, row-major without gaps. */
typedef struct tailrace_part {
  const char* variable;
  int type;
  tailrace_box box;                   /* the box, in the global index space */
  int64_t extents[TAILRACE_MAX_DIMS]; /* global extents of the variable */
  void* data;                         /* may be changed */
  int64_t num_items;
} tailrace_part;
/* A function for the stage "call name=NAME" of products: each server or writer calls it once per
   step, with its parts. It must not call MPI or this library. If it returns a value other than 0,
   the product fails. */
typedef int (*tailrace_stage_function)(int64_t step, int num_parts, tailrace_part* parts,
                                       void* user);
/* A function for the stage "tasks name=NAME count=N": computes the value of one small task; all
   values become an array. Several threads call it concurrently. */
typedef int (*tailrace_task_function)(int64_t step, int64_t task, double* value, void* user);
/* A function that products may call by `name`: one of `stage` and `task` is not NULL. (Servers that
   are processes use the functions of `server_program`.) */
typedef struct tailrace_function {
  const char* name;
  tailrace_stage_function stage;
  tailrace_task_function task;
  void* user; /* passed to the function; must outlive servers and writers */
} tailrace_function;

/* A result that the servers or writer threads compute from the variables of an output in their idle
   time. */
typedef struct tailrace_product {
  const char* name;             /* used in file names and messages */
  int num_variables;            /* 0 (default): all */
  const char* const* variables; /* names of the variables */
  int num_stages;
  const char* const* stages; /* in order: "coarsen factor=4", ...; docs/servers.md */
  const char* path;          /* default "{path}_{name}.h5" */
  const char* format;        /* "hdf5", "zarr" or "auto" (default: by the suffix) */
  int64_t every;             /* only for each `every`-th step; default 1 */
} tailrace_product;
tailrace_product tailrace_product_defaults(void);

/* Action of a write when the staging memory is full. */
enum tailrace_when_full {
  TAILRACE_WAIT_FOR_ROOM = 0,
  TAILRACE_DROP = 1,  /* leave the step out */
  TAILRACE_THIN = 2,  /* leave it out; then take every 2nd, 4th, ... step until there is room */
  TAILRACE_LOWER = 3, /* convert float64 to float32 */
  TAILRACE_SPILL = 4  /* write to node-local disk first */
};
/* What happens after a file or product has failed. */
enum tailrace_on_failure {
  TAILRACE_STOP = 0,    /* the next call fails on every rank */
  TAILRACE_PROCEED = 1, /* the error is printed once, and counted */
  TAILRACE_CONTINUE = 1 /* the same as TAILRACE_PROCEED */
};
/* The outcome of a step. */
enum tailrace_write_result {
  TAILRACE_STAGED = 0,
  TAILRACE_WRITTEN = 1,
  TAILRACE_DROPPED = 2,
  TAILRACE_LOWERED = 3,
  TAILRACE_SPILLED = 4
};

/* All settings of output: who writes, the files, and what is written and when. A NULL text means
   the default. include/tailrace/more/output_options.hpp describes each setting in detail. */
typedef struct tailrace_output_options {
  int mode; /* for programs of 0.1 (tailrace/c/stream.h) */

  /* Who writes. An output that a session opens uses the session's settings. */
  const char* servers;   /* "none", "hidden", "thread", "process" or "auto" (default: "hidden"); a
                            session also accepts "N" and "N per node", and its "auto" measures */
  const char* placement; /* placement of server ranks: "spread" (default) or "own_nodes" */
  const char* transport; /* "auto" (default) or a name of `tailrace list` */
  int64_t memory_bytes;  /* limit of the staging memory of a node; default 1 GiB */
  int senders_at_once;   /* concurrent senders per server (transport "credit"); default 4 */
  int64_t chunk_bytes;   /* size of a message; default 4 MiB */
  const char* progress;  /* by "calls" of tailrace_output_progress (default), or by a "thread" */
  int threads;           /* threads per writer or server for products and compression; default 1 */
  double watchdog_s;  /* [s] timeout for a response of the other side; 0: none; negative (default):
                         600 with a session or with servers, otherwise none */
  const char* folder; /* destination of the output (default "."); "auto" measures there */

  /* The files. */
  const char* strategy; /* "auto" (default), "spokesperson", "collective", "shared_independent",
                           "grouped", "file_per_rank" */
  const tailrace_hints* hints; /* may be NULL; they override the numbers below */
  int writers;                 /* writer ranks; 0 (default) = up to 4 per node */
  int64_t stripe_bytes; /* file domains end at multiples of it; default 1 MiB, 0 = even shares */
  int buffered_files;   /* unfinished files above which "hidden" waits; default 2 */
  const char* method; /* how data moves to the writers: "auto", "push", or a method of exchanges */
  int checksums;      /* 1 (default): the file contains a checksum of each piece */
  const tailrace_trace* trace; /* may be NULL */

  /* Functions that products call. */
  int num_functions; /* number of functions, the same on all ranks; default 0 */
  const tailrace_function* functions;
  /* For servers = "process": the path of a program that serves with your functions, and its first
     arguments; those that it passes to `tailrace_serve_as_process` follow them. 0 (default):
     `tailrace-server`, which has no functions. */
  int num_server_words;
  const char* const* server_program;

  /* What is written, and when. */
  int priority;        /* outputs of higher priority are moved first; default 0 */
  int when_full;       /* default TAILRACE_WAIT_FOR_ROOM */
  double stall_budget; /* share of the run time that writes may cost; 0 (default): no budget */
  double wait_limit_s; /* [s] timeout of a wait; 0: none; negative (default): 600 for an output of a
                          session, otherwise none */
  const char* spill_folder;  /* folder on a node-local disk; "" (default): $TMPDIR or /tmp */
  int on_failure;            /* default TAILRACE_STOP */
  double retry_s;            /* [s] time to retry while the disk is full; default 0 */
  const char* fallback_path; /* folder for files that cannot be written to theirs; "": none */
  const char* format;   /* format of the variables' files: "hdf5", "zarr" or "auto" (default) */
  const char* compress; /* as in `OutputOptions` of C++, e.g. "deflate:1"; "" (default): off */
  int variables;        /* 0: only the products are written; default 1 */
  int num_products;     /* default 0 */
  const tailrace_product* products;
  const char* series; /* an HDF5 file (.h5) or a Zarr store (.zarr) that presents all steps along an
                         axis `time`; "" (default): none (docs/files.md); "FILE steps_per_file=N"
                         merges N steps into each file (HDF5) */
} tailrace_output_options;
tailrace_output_options tailrace_output_defaults(void);

/* What output has cost the program so far, and the outcome of the steps, on this rank. */
typedef struct tailrace_output_statistics {
  int64_t steps;    /* writes that accepted their step */
  int64_t complete; /* steps known to be complete on disk */
  int64_t dropped, thinned, lowered, spilled, failed;
  int64_t bytes;          /* bytes passed to write by this rank */
  int64_t written_bytes;  /* bytes written by this rank's writer */
  int64_t writes;         /* system calls that wrote */
  int64_t opens;          /* files opened for writing */
  int64_t slowest_step;   /* -1: none yet */
  double run_s;           /* time since the output was created */
  double call_s;          /* time in calls: the time that output cost the program */
  double agree_s;         /* part of call_s: waiting for the other ranks */
  double copy_s;          /* part of call_s: laying files out, copying into staging memory */
  double room_s;          /* part of call_s: waiting for room in staging memory */
  double end_s;           /* part of call_s: waiting for complete files */
  double stall_s;         /* room_s + end_s */
  double write_s;         /* time spent writing (in the background if hidden) */
  double writer_cpu_s;    /* CPU time of writing and products; NaN if several servers write */
  double slowest_s;       /* longest time until a step was safe on disk */
  double hidden_fraction; /* share of copying and writing that did not delay the program */
} tailrace_output_statistics;

typedef struct tailrace_output tailrace_output;

/* Creates an output; `options` NULL: the defaults. Fails on all ranks alike: TAILRACE_INVALID_INPUT
   for options out of range, TAILRACE_IO if a server cannot be started. Collective, blocking. */
int tailrace_output_create(const tailrace_comm* comm, const tailrace_output_options* options,
                           tailrace_output** output);
/* Submits `contents` to be written to `path`, which is at any time either absent, the previous
   complete file, or the new one. When it returns, the arrays may be changed. Fails on all ranks
   alike: TAILRACE_INVALID_INPUT for wrong contents; with TAILRACE_STOP also TAILRACE_IO (errno,
   rank, path, step) for this file ("none") or an earlier one; then nothing of `contents` has been
   written or staged, and the call may be repeated. Collective over the compute ranks; blocks for
   the copy, and as `when_full` specifies. */
int tailrace_output_write(tailrace_output* output, const char* path,
                          const tailrace_contents* contents);
/* Sets `*result` to the outcome of the last write, a `tailrace_write_result`; -1 if it failed or
   there was none. Local. */
int tailrace_output_last_result(const tailrace_output* output, int* result);
/* Renames files whose writers are done, and advances transports that need it; call it once per step
   on all ranks. Local. */
int tailrace_output_progress(tailrace_output* output);
/* Waits until every file has its final name; fails as write does. Collective, blocking. */
int tailrace_output_finish(tailrace_output* output);
int tailrace_output_get_statistics(const tailrace_output* output,
                                   tailrace_output_statistics* statistics);
/* The statistics as text: what output has cost, and the outcome of the steps. Local. */
int tailrace_output_describe_statistics(const tailrace_output* output, const char** text);
/* Which threads, processes or ranks write, and why. Local. */
int tailrace_output_describe(const tailrace_output* output, const char** text);
/* Path of the last file known to be complete, or "". Local. */
int tailrace_output_last_complete(const tailrace_output* output, const char** path);
/* Waits for unfinished files; errors found now are only printed (or logged), so call finish first.
   Collective, blocking. */
int tailrace_output_destroy(tailrace_output** output);

/* Writes (on rank 0) an XDMF file with which ParaView reads `num_files` files with times `times_s`
   [s] on a uniform grid of `extents` (z, y, x) and `spacing`. Fails with TAILRACE_IO on all ranks.
   Collective, blocking. */
int tailrace_write_xdmf(const tailrace_comm* comm, const char* path, int num_files,
                        const char* const* files, const double* times_s, int num_variables,
                        const char* const* variables, const int64_t extents[3],
                        const double spacing[3], int type);

#ifdef __cplusplus
}
#endif
#endif
