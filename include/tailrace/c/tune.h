/* SPDX-License-Identifier: BSD-3-Clause */
/* Times alternatives in a program on this machine and remembers the fastest, as the library does
   for "auto". See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_TUNE_H
#define TAILRACE_C_TUNE_H

#include <stdint.h>

#include "tailrace/c/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tailrace_tune_mode {
  TAILRACE_TUNE_OFF = 0,        /* never: use the fallback */
  TAILRACE_TUNE_REMEMBERED = 1, /* use what an earlier run measured here, otherwise the fallback */
  TAILRACE_TUNE_FIRST_USE = 2   /* the same, but time problems without a result */
};

typedef struct tailrace_tune_settings {
  int mode;
  const char* file;     /* file of results; "" stores nothing */
  double budget_s;      /* time limit for one problem [s]; default 3 */
  int64_t memory_bytes; /* memory limit for trials per rank; default 1 GiB */
} tailrace_tune_settings;
/* The defaults: mode TAILRACE_TUNE_FIRST_USE, no file. */
tailrace_tune_settings tailrace_tune_defaults(void);

/* One alternative, ready to be run repeatedly. */
typedef struct tailrace_candidate {
  const char* name;
  int (*run)(void* user); /* runs it; collective; any value but 0: it does not work here */
  uint64_t (*checksum)(void* user); /* checksum of this rank's results after a run; must equal that
                                       of the first candidate; may be NULL */
  void* user;
} tailrace_candidate;

typedef struct tailrace_tune_problem {
  const char* operation; /* "halo exchange", ... */
  const char* key;       /* what determines the winner in addition to the machine: sizes, type */
  const char* fallback;  /* name of the candidate to use without measurement */
  int64_t memory_bytes;  /* memory of its trials on this rank */
} tailrace_tune_problem;

/* Sets `*chosen` to the index of the candidate to use, the same on all ranks, and `*why` (may be
   NULL) to the reason, a text owned by `comm`. `settings` NULL: those of the environment
   (TAILRACE_TUNE, TAILRACE_TUNE_FILE, ...). All ranks pass the same candidates. Collective,
   blocking. */
int tailrace_tune_choose(const tailrace_comm* comm, const tailrace_tune_problem* problem,
                         int num_candidates, const tailrace_candidate* candidates,
                         const tailrace_tune_settings* settings, int* chosen, const char** why);

#ifdef __cplusplus
}
#endif
#endif
