/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects, counts and limits the lines that ranks print. See tailrace.h for the rules of calls. */
#ifndef TAILRACE_C_LOG_H
#define TAILRACE_C_LOG_H

#include <stdint.h>

#include "tailrace/c/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tailrace_log_level {
  TAILRACE_LOG_DEBUG = 0,
  TAILRACE_LOG_INFO = 1,
  TAILRACE_LOG_WARNING = 2,
  TAILRACE_LOG_ERROR = 3
};

typedef struct tailrace_log_options {
  const char* target; /* "stderr" (default), "stdout", or a file to append to */
  int level;          /* lower levels are dropped; default TAILRACE_LOG_INFO */
  double
      lines_per_s;   /* also the burst limit; above it info is omitted, warnings wait; default 20 */
  double repeat_s;   /* [s] minimum interval between identical lines; default 10 */
  int64_t max_lines; /* distinct lines that a rank keeps; default 1000 */
  int64_t max_line_bytes; /* longer ones are cut; default 1000, at most 3500 */
  double finish_wait_s;   /* [s] how long finish waits for the other ranks; default 30 */
} tailrace_log_options;
tailrace_log_options tailrace_log_defaults(void);

/* Counters of a log on this rank. */
typedef struct tailrace_log_statistics {
  int64_t given, messages, written, flushes, left_out;
} tailrace_log_statistics;

typedef struct tailrace_log tailrace_log;

/* Rank 0 opens the target. Fails with TAILRACE_IO or TAILRACE_INVALID_INPUT on all ranks. Until it
   is finished, the log also receives the library's messages. Collective, blocking. */
int tailrace_log_create(const tailrace_comm* comm, const tailrace_log_options* options,
                        tailrace_log** log);
/* Adds a line: info from rank 0 only, warnings and errors from any rank. Local, never blocks. */
int tailrace_log_write(tailrace_log* log, int level, const char* text);
/* Moves lines towards rank 0, which writes them; call it once per step. Local, never blocks. */
int tailrace_log_progress(tailrace_log* log);
/* Writes all remaining lines; later lines are dropped. Collective, blocking. */
int tailrace_log_finish(tailrace_log* log);
int tailrace_log_get_statistics(const tailrace_log* log, tailrace_log_statistics* statistics);
/* Finishes the log and frees it. Collective, blocking. */
int tailrace_log_destroy(tailrace_log** log);

/* Sets the handler for the library's messages: it is called from any thread, but never
   concurrently, and must not call this library. NULL: messages go to the newest log, otherwise to
   standard error. Applies to the whole process. Local. */
typedef void (*tailrace_line_handler)(int level, const char* text, void* user);
int tailrace_set_line_handler(tailrace_line_handler handler, void* user);
/* Prints a message of the library, for bindings that are built on this one. Local. */
int tailrace_say(int level, const char* text);

#ifdef __cplusplus
}
#endif
#endif
