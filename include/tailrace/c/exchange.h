/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves arrays repeatedly from one layout to another. See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_EXCHANGE_H
#define TAILRACE_C_EXCHANGE_H

#include <stdint.h>

#include "tailrace/c/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of a rank that the other ranks of its node can read in place; method node_direct copies
   data from it in one pass. */
typedef struct tailrace_node_array tailrace_node_array;

/* Allocates `num_bytes` for this rank (may differ between ranks), zeroed, 64-byte aligned.
   Collective, blocking. */
int tailrace_node_array_create(const tailrace_comm* comm, int64_t num_bytes,
                               tailrace_node_array** array);
/* This rank's memory; it is freed with the last handle to which it was exposed. Local. */
int tailrace_node_array_data(const tailrace_node_array* array, void** data);
int tailrace_node_array_destroy(tailrace_node_array** array);

typedef struct tailrace_exchange_options {
  int64_t item_bytes;         /* bytes of an item; default 8 */
  int num_fields;             /* arrays that one call moves; default 1 */
  int sources_in_node_arrays; /* all sources lie in exposed node arrays */
  int in_place;               /* a field's source and destination may be one array */
  const char* method;         /* "auto" (the fastest measured), "pairwise", "pull:chunk=4k", ... */
} tailrace_exchange_options;
tailrace_exchange_options tailrace_exchange_defaults(void);

typedef struct tailrace_exchange tailrace_exchange;

/* Creates an exchange from layout `from` to layout `to`; the memories describe this rank's arrays
   (NULL: dense). `options` NULL: the defaults. Allocates all memory that the other calls need.
   Fails on all ranks alike: TAILRACE_INVALID_INPUT if the method is unknown or does not apply, if
   layouts, memories and communicator are inconsistent, if an item has two sources, or if the ranks
   give different options; TAILRACE_IO (ENOMEM). Collective, blocking. */
int tailrace_exchange_create(const tailrace_comm* comm, const tailrace_layout* from,
                             const tailrace_memory* from_memory, const tailrace_layout* to,
                             const tailrace_memory* to_memory,
                             const tailrace_exchange_options* options,
                             tailrace_exchange** exchange);
/* Waits for a transfer in progress. Collective if the method requires it. */
int tailrace_exchange_destroy(tailrace_exchange** exchange);
/* Declares that sources may lie in `array`; all ranks expose the same arrays in the same order.
   Local. */
int tailrace_exchange_expose(tailrace_exchange* exchange, const tailrace_node_array* array);

/* Moves one field. The numbers of items are compared with the memories (in place: at least as
   many). If a call is wrong on all ranks, it returns the error. If it is wrong on only some ranks,
   the others would wait for them: after 10 s (TAILRACE_PATIENCE_S) the job aborts with a line on
   standard error. Collective, blocking. */
int tailrace_exchange_run(tailrace_exchange* exchange, const void* source, int64_t num_source_items,
                          void* destination, int64_t num_destination_items);
/* Moves `num_fields` fields, each with these sizes. Collective, blocking. */
int tailrace_exchange_run_fields(tailrace_exchange* exchange, int num_fields,
                                 const void* const* sources, int64_t num_source_items,
                                 void* const* destinations, int64_t num_destination_items);
/* Begin to move one field, or several: do not change sources or access destinations until
   `tailrace_exchange_finish` returns. Collective; does not wait for data of other ranks. */
int tailrace_exchange_start(tailrace_exchange* exchange, const void* source,
                            int64_t num_source_items, void* destination,
                            int64_t num_destination_items);
int tailrace_exchange_start_fields(tailrace_exchange* exchange, int num_fields,
                                   const void* const* sources, int64_t num_source_items,
                                   void* const* destinations, int64_t num_destination_items);
/* Advances the transfer; `*done` is 1 when `tailrace_exchange_finish` would not wait. Local. */
int tailrace_exchange_progress(tailrace_exchange* exchange, int* done);
/* Waits until the data has arrived and the sources may be changed. Collective, blocking. */
int tailrace_exchange_finish(tailrace_exchange* exchange);

/* Name of the method, and why "auto" chose it ("" if the caller chose it). Local. */
int tailrace_exchange_method(const tailrace_exchange* exchange, const char** name);
int tailrace_exchange_why(const tailrace_exchange* exchange, const char** text);
/* Number of ranks that exchange with each other, including this one. Local. */
int tailrace_exchange_num_ranks_together(const tailrace_exchange* exchange, int* num_ranks);
/* Bytes that the exchange holds in addition to the caller's arrays. Local. */
int tailrace_exchange_buffer_bytes(const tailrace_exchange* exchange, int64_t* num_bytes);

/* An entry of the table of methods: name and summary. `index` counts from 0; TAILRACE_INVALID_INPUT
   past the end. Local. */
int tailrace_exchange_method_info(int index, const char** name, const char** summary);

#ifdef __cplusplus
}
#endif
#endif
