/* SPDX-License-Identifier: BSD-3-Clause */
/* Times alternatives of a program's own on this machine and remembers the winner. The library's
   "auto" does the same. See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_TUNE_H
#define TAILRACE_C_TUNE_H

#include <stdint.h>

#include "tailrace/c/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tailrace_tune_mode {
  TAILRACE_TUNE_OFF = 0,        /* never: the fallback */
  TAILRACE_TUNE_REMEMBERED = 1, /* what an earlier run has measured here, else the fallback */
  TAILRACE_TUNE_FIRST_USE = 2   /* as that; what was not measured yet is timed */
};

typedef struct tailrace_tune_settings {
  int mode;
  const char* file;     /* the memory of winners; "" keeps nothing */
  double budget_s;      /* longest time for one problem; default 3 */
  int64_t memory_bytes; /* most memory that trying may take on a rank; default 1 GiB */
} tailrace_tune_settings;
/* Mode TAILRACE_TUNE_FIRST_USE, no file. */
tailrace_tune_settings tailrace_tune_defaults(void);

/* One alternative, ready to be run again and again. */
typedef struct tailrace_candidate {
  const char* name;
  int (*run)(void* user);           /* collective; other than 0: it does not work here */
  uint64_t (*checksum)(void* user); /* of this rank's results after a run, must be that of the first
                                       candidate; may be NULL */
  void* user;
} tailrace_candidate;

typedef struct tailrace_tune_problem {
  const char* operation; /* "halo exchange", ... */
  const char* key;       /* what decides the winner besides the machine: sizes, type */
  const char* fallback;  /* name of the candidate to use unmeasured */
  int64_t memory_bytes;  /* that trying it takes on this rank */
} tailrace_tune_problem;

/* Sets `*chosen` to the index of the candidate to use, the same on all ranks, and `*why` (may be
   NULL) to the reason, a text of `comm`. `settings` NULL: those of the environment (TAILRACE_TUNE,
   TAILRACE_TUNE_FILE, ...). The same candidates on all ranks. Collective, blocking. */
int tailrace_tune_choose(const tailrace_comm* comm, const tailrace_tune_problem* problem,
                         int num_candidates, const tailrace_candidate* candidates,
                         const tailrace_tune_settings* settings, int* chosen, const char** why);

#ifdef __cplusplus
}
#endif
#endif
