/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to the bytes of a file that all ranks share, with any strategy and back end
   (docs/files.md). See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_FILE_H
#define TAILRACE_C_FILE_H

#include <stdint.h>

#include "tailrace/c/hints.h"
#include "tailrace/c/layout.h"
#include "tailrace/c/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maps bytes of a file to one rank's memory. Needs no MPI calls; create it once and use it for
   every step. All local. */
typedef struct tailrace_file_part tailrace_file_part;

/* `num_boxes` boxes of a row-major array of `extents` items of `item_bytes`, whose first item is at
   byte `offset` of the file; `memory` describes their layout in memory (NULL: dense). */
int tailrace_file_part_boxes(int64_t offset, int num_dims, const int64_t* extents,
                             int64_t item_bytes, int64_t num_boxes, const tailrace_box* boxes,
                             const tailrace_memory* memory, tailrace_file_part** part);
/* Any runs of the file; in memory they are consecutive, without gaps, in the given order. */
int tailrace_file_part_runs(int64_t num_runs, const int64_t* offsets, const int64_t* num_bytes,
                            tailrace_file_part** part);
/* Bytes of the data, without halo. */
int tailrace_file_part_bytes(const tailrace_file_part* part, int64_t* num_bytes);
int tailrace_file_part_destroy(tailrace_file_part** part);

/* Resources shared by the files of one communicator: create one pool and open all files with it. */
typedef struct tailrace_file_pool tailrace_file_pool;
/* Creates a pool. Collective, blocking. Destroying its last file or handle is also collective and
   blocking. */
int tailrace_file_pool_create(const tailrace_comm* comm, tailrace_file_pool** pool);
int tailrace_file_pool_destroy(tailrace_file_pool** pool);

enum tailrace_file_access {
  TAILRACE_FILE_READ = 0,  /* an existing file */
  TAILRACE_FILE_WRITE = 1, /* a new file, or an old one emptied */
  TAILRACE_FILE_UPDATE = 2 /* an existing or new file, read and written */
};

typedef struct tailrace_file_statistics {
  int64_t opens, reads, writes;      /* on this rank */
  int64_t bytes_read, bytes_written; /* including sieving */
  int64_t locks;                     /* ranges locked for read-modify-write */
  double io_s, move_s;               /* in calls to the file system; moving data between ranks */
} tailrace_file_statistics;

typedef struct tailrace_file tailrace_file;

/* `hints` and `trace` may be NULL; TAILRACE_HINTS overrides the hints. Fails on all ranks alike:
   TAILRACE_INVALID_INPUT (a hint, strategy or back end that does not apply) or TAILRACE_IO (errno,
   path). Collective, blocking. */
int tailrace_file_open(tailrace_file_pool* pool, const char* path, int access,
                       const tailrace_hints* hints, const tailrace_trace* trace,
                       tailrace_file** file);
/* Writes every rank's `part` from `data` of `num_bytes` bytes, which is checked; parts of different
   ranks must not overlap. Fails on all ranks alike. Collective, blocking. */
int tailrace_file_write(tailrace_file* file, const tailrace_file_part* part, const void* data,
                        int64_t num_bytes);
/* Reads every rank's `part` into `data` of `num_bytes` bytes. TAILRACE_CORRUPT if the file ends
   before a part does. Collective, blocking. */
int tailrace_file_read(tailrace_file* file, const tailrace_file_part* part, void* data,
                       int64_t num_bytes);
/* Flushes to disk (hint `sync`) and closes. Collective, blocking. */
int tailrace_file_close(tailrace_file* file);
/* Setting number `index` (from 0) in effect, and its origin; TAILRACE_INVALID_INPUT past the last
   one. The strings are valid as long as the file exists. Local. */
int tailrace_file_setting(const tailrace_file* file, int index, const char** name,
                          const char** value, const char** source);
/* Statistics of this rank (local), and sums over all ranks (times: the longest; collective,
   blocking). */
int tailrace_file_get_statistics(const tailrace_file* file, tailrace_file_statistics* statistics);
int tailrace_file_get_total_statistics(const tailrace_file* file,
                                       tailrace_file_statistics* statistics);
/* Closes the file if it is still open; errors are then only printed. Collective, blocking. */
int tailrace_file_destroy(tailrace_file** file);

#ifdef __cplusplus
}
#endif
#endif
