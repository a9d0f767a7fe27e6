/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks split into those that compute and those that serve output, and streams of files that leave
   by the servers, with products of them. See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_SESSION_H
#define TAILRACE_C_SESSION_H

#include <stdint.h>

#include "tailrace/c/output.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A server's box of a variable, row-major without gaps. */
typedef struct tailrace_part {
  const char* variable;
  int type;
  tailrace_box box;                   /* in the global index space */
  int64_t extents[TAILRACE_MAX_DIMS]; /* global */
  void* data;                         /* may be changed */
  int64_t num_items;
} tailrace_part;
/* A function as the stage "call name=NAME" of products: called once a step on each server with its
   parts. No MPI calls, and none of this library. A value other than 0 is a failure of the product.
 */
typedef int (*tailrace_stage_function)(int64_t step, int num_parts, tailrace_part* parts,
                                       void* user);
/* One of many small tasks as the stage "tasks name=NAME count=N", whose values become an array.
   Called from several threads at once. */
typedef int (*tailrace_task_function)(int64_t step, int64_t task, double* value, void* user);
/* What products of a session may call by `name`: one of `stage` and `task` is not NULL. (Servers
   that are processes have those of `server_program`.) */
typedef struct tailrace_function {
  const char* name;
  tailrace_stage_function stage;
  tailrace_task_function task;
  void* user; /* passed to it; outlives the session */
} tailrace_function;

typedef struct tailrace_session_options {
  const char* servers;   /* none, hidden, thread, process, N, "N per node" or auto */
  const char* placement; /* of ranks that serve: "spread" or "own_nodes" */
  const char* transport; /* "auto" or a name of `tailrace list` */
  int64_t memory_bytes;  /* staging memory of a node at most; default 1 GiB */
  int senders_at_once;   /* of a server (transport "credit"); default 4 */
  int64_t chunk_bytes;   /* of a message; default 4 MiB */
  const char* progress;  /* "calls" of tailrace_stream_progress, or "thread" */
  int threads;           /* of a server, for products and compression; default 1 */
  double watchdog_s;     /* [s] a longer silence of a peer is an error; default 600; 0: none */
  const char* folder;    /* where output will go; "auto" measures there */
  const tailrace_trace* trace; /* may be NULL */
  int num_functions;           /* the same ones on all ranks; default 0 */
  const tailrace_function* functions;
  /* Where servers = "process": the file of a program that serves with your functions, and the words
     that it is started with, before those that it hands on to `tailrace_serve_as_process`. 0
     (default): `tailrace-server`, which has no functions. */
  int num_server_words;
  const char* const* server_program;
} tailrace_session_options;
tailrace_session_options tailrace_session_defaults(void);

typedef struct tailrace_session tailrace_session;

/* Splits the ranks of `world`; `options` NULL: the defaults. Fails on all ranks alike:
   TAILRACE_INVALID_INPUT for options out of range, TAILRACE_IO if a server cannot be started.
   Collective, blocking. */
int tailrace_session_create(MPI_Comm world, const tailrace_session_options* options,
                            tailrace_session** session);
/* The same from a communicator of Fortran. */
int tailrace_session_create_fortran(MPI_Fint world, const tailrace_session_options* options,
                                    tailrace_session** session);
/* 1 where this rank computes. Local. */
int tailrace_session_computes(const tailrace_session* session, int* computes);
/* The ranks that compute (a new handle). Only where they do. Collective over them, blocking. */
int tailrace_session_comm(const tailrace_session* session, tailrace_comm** comm);
/* Serves until all compute ranks have closed; `*lost` is 1 if output was lost. Only where this rank
   does not compute. Blocking. */
int tailrace_session_serve(tailrace_session* session, int* lost);
/* Number of servers (0: none), transport, and a line about both. Local. */
int tailrace_session_num_servers(const tailrace_session* session, int* num_servers);
int tailrace_session_transport(const tailrace_session* session, const char** name);
int tailrace_session_describe(const tailrace_session* session, const char** text);
/* Finishes all streams and ends the servers; fails as `tailrace_stream_finish`. Collective over the
   compute ranks, blocking. */
int tailrace_session_close(tailrace_session* session);
/* Closes if that has not been done; errors are then only printed. Collective, blocking. */
int tailrace_session_destroy(tailrace_session** session);

/* The rest of a program that `server_program` names, instead of MPI_Init: serves, with these
   functions, the programs that started it, until they have left. `words` are those that follow its
   own. `*exit_status` is what `main` is to return: 0 if nothing was lost; a failure is printed. It
   takes no cores and open files of its parent over, runs at a lower priority, and makes no MPI
   call. Blocking. */
int tailrace_serve_as_process(int num_words, const char* const* words, int num_functions,
                              const tailrace_function* functions, int* exit_status);

/* Something that the servers make of the variables of a stream, in their idle time. */
typedef struct tailrace_product {
  const char* name;             /* in file names and messages */
  int num_variables;            /* 0 (default): all */
  const char* const* variables; /* names */
  int num_stages;
  const char* const* stages; /* in order: "coarsen factor=4", ...; docs/servers.md */
  const char* path;          /* default "{path}_{name}.h5" */
  const char* format;        /* "hdf5", "zarr" or "auto" (default: by the suffix) */
  int64_t every;             /* only of each `every`-th step; default 1 */
} tailrace_product;
tailrace_product tailrace_product_defaults(void);

/* What a write does when the staging memory is full. */
enum tailrace_when_full {
  TAILRACE_WAIT_FOR_ROOM = 0,
  TAILRACE_DROP = 1,  /* leaves the step out */
  TAILRACE_THIN = 2,  /* and from now on takes every 2nd, 4th, ... step until there is room */
  TAILRACE_LOWER = 3, /* float64 becomes float32 */
  TAILRACE_SPILL = 4  /* to node-local disk first */
};
/* What follows a failed file or product. */
enum tailrace_on_failure {
  TAILRACE_STOP = 0,    /* the next call fails on every rank */
  TAILRACE_PROCEED = 1, /* it is printed once, and counted */
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

typedef struct tailrace_stream_options {
  int priority;             /* streams of a higher one are moved first; default 0 */
  int when_full;            /* default TAILRACE_WAIT_FOR_ROOM */
  double stall_budget;      /* share of the run time that writes may cost; 0: no budget */
  double wait_limit_s;      /* a longer wait fails; default 600 */
  const char* spill_folder; /* node-local; "": $TMPDIR or /tmp */
  int on_failure;           /* default TAILRACE_STOP */
  double retry_s;           /* how long a full disk is tried again */
  const char* fallback_path;
  const char* format; /* of the variables: "hdf5", "zarr" or "auto" */
  int variables;      /* 0: only the products are written; default 1 */
  int num_products;
  const tailrace_product* products;
  tailrace_output_options output; /* the session says in which mode */
} tailrace_stream_options;
tailrace_stream_options tailrace_stream_defaults(void);

typedef struct tailrace_stream tailrace_stream;

/* Opens an output. Names are distinct; the same calls in the same order on all compute ranks.
   `options` NULL: the defaults. Collective over the compute ranks, blocking. */
int tailrace_session_open(tailrace_session* session, const char* name,
                          const tailrace_stream_options* options, tailrace_stream** stream);
/* Hands over `contents`, to be written to `path`; when it returns, the arrays may be changed.
   `*result` (may be NULL) is a `tailrace_write_result`. Fails on all compute ranks alike: a wrong
   argument, or (TAILRACE_STOP) TAILRACE_IO of an earlier file; then nothing has been taken.
   Collective over the compute ranks; blocking for the copy, and as `when_full` says. */
int tailrace_stream_write(tailrace_stream* stream, const char* path,
                          const tailrace_contents* contents, int* result);
/* Moves data on, where the transport needs help; once a step. Local. */
int tailrace_stream_progress(tailrace_stream* stream);
/* Waits until every file has its final name. Collective over the compute ranks, blocking. */
int tailrace_stream_finish(tailrace_stream* stream);
int tailrace_stream_get_statistics(const tailrace_stream* stream,
                                   tailrace_output_statistics* statistics);
/* For people: what output has cost, and the outcome of the steps. Local. */
int tailrace_stream_describe(const tailrace_stream* stream, const char** text);
int tailrace_stream_last_complete(const tailrace_stream* stream, const char** path);
/* Finishes; errors are only printed. Collective over the compute ranks, blocking. */
int tailrace_stream_destroy(tailrace_stream** stream);

#ifdef __cplusplus
}
#endif
#endif
