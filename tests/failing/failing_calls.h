/* SPDX-License-Identifier: BSD-3-Clause */
/* What failing_calls.c shall do, in a file that all processes of a test have mapped: its path is in
   TAILRACE_FAILING_CALLS. One call fails in all processes together: the `at`-th, from 1, of those
   that concern files under `folder`; with `all` every one from there on. Requests of io_uring count
   as calls. */
#pragma once

#ifdef __cplusplus
#include <atomic>
using failing_counter = std::atomic<long>;
static_assert(sizeof(failing_counter) == sizeof(long));
#else
#include <stdatomic.h>
typedef atomic_long failing_counter;
#endif

enum { failing_short = -1 }; /* as an error: reads and writes do a part, others do not fail */

struct failing_calls {
  failing_counter armed; /* 0: nothing fails and nothing is counted */
  failing_counter calls; /* counted so far */
  failing_counter at;
  failing_counter all;
  failing_counter error;    /* errno */
  failing_counter fired;    /* 1: the call has failed */
  failing_counter pause_us; /* that every write takes more; also where nothing fails */
  char folder[512];
  char only[32];   /* calls of this name; "": all */
  char name[32];   /* of the call that failed */
  char path[1024]; /* of its file */
};
