/* SPDX-License-Identifier: BSD-3-Clause */
/* Deprecated names of version 0.1, in which an output of a session was a stream and there were
   three option structs. They compile for one more release. */
#ifndef TAILRACE_C_STREAM_H
#define TAILRACE_C_STREAM_H

#include "tailrace/c/session.h"

/* Marks a deprecated name, if the compiler supports it. */
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 6)
#define TAILRACE_DEPRECATED(use) __attribute__((deprecated(use)))
#else
#define TAILRACE_DEPRECATED(use)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Values of `mode` in `tailrace_output_options`. It applies if `servers` is "auto". */
enum tailrace_output_mode {
  TAILRACE_SYNCHRONOUS TAILRACE_DEPRECATED("set servers to \"none\"") = 0,
  TAILRACE_HIDDEN TAILRACE_DEPRECATED("set servers to \"hidden\"") = 1
};

typedef tailrace_output_options tailrace_session_options
    TAILRACE_DEPRECATED("use tailrace_output_options");
typedef tailrace_output tailrace_stream TAILRACE_DEPRECATED("use tailrace_output");

TAILRACE_DEPRECATED("use tailrace_output_defaults")
static inline tailrace_output_options tailrace_session_defaults(void) {
  return tailrace_output_defaults();
}

/* `tailrace_output_options` replaces this struct: it has these members and those of `output`. */
typedef struct tailrace_stream_options {
  int priority;
  int when_full;
  double stall_budget;
  double wait_limit_s;
  const char* spill_folder;
  int on_failure;
  double retry_s;
  const char* fallback_path;
  const char* format;
  int variables;
  int num_products;
  const tailrace_product* products;
  tailrace_output_options output;
} tailrace_stream_options;

TAILRACE_DEPRECATED("use tailrace_output_defaults")
static inline tailrace_stream_options tailrace_stream_defaults(void) {
  const tailrace_output_options same = tailrace_output_defaults();
  const tailrace_stream_options options = {same.priority,
                                           same.when_full,
                                           same.stall_budget,
                                           600,
                                           same.spill_folder,
                                           same.on_failure,
                                           same.retry_s,
                                           same.fallback_path,
                                           same.format,
                                           same.variables,
                                           same.num_products,
                                           same.products,
                                           same};
  return options;
}

TAILRACE_DEPRECATED("use tailrace_session_open_output")
static inline int tailrace_session_open(tailrace_session* session, const char* name,
                                        const tailrace_stream_options* options,
                                        tailrace_output** stream) {
  if (options == NULL) return tailrace_session_open_output(session, name, NULL, stream);
  tailrace_output_options same = options->output;
  same.mode = 2; /* servers ignore settings of the files that they do not know */
  same.priority = options->priority;
  same.when_full = options->when_full;
  same.stall_budget = options->stall_budget;
  same.wait_limit_s = options->wait_limit_s;
  same.spill_folder = options->spill_folder;
  same.on_failure = options->on_failure;
  same.retry_s = options->retry_s;
  same.fallback_path = options->fallback_path;
  same.format = options->format;
  same.variables = options->variables;
  same.num_products = options->num_products;
  same.products = options->products;
  return tailrace_session_open_output(session, name, &same, stream);
}

TAILRACE_DEPRECATED("use tailrace_output_write, tailrace_output_last_result")
static inline int tailrace_stream_write(tailrace_output* stream, const char* path,
                                        const tailrace_contents* contents, int* result) {
  const int status = tailrace_output_write(stream, path, contents);
  if (status == TAILRACE_OK && result != NULL) return tailrace_output_last_result(stream, result);
  return status;
}
TAILRACE_DEPRECATED("use tailrace_output_progress")
static inline int tailrace_stream_progress(tailrace_output* stream) {
  return tailrace_output_progress(stream);
}
TAILRACE_DEPRECATED("use tailrace_output_finish")
static inline int tailrace_stream_finish(tailrace_output* stream) {
  return tailrace_output_finish(stream);
}
TAILRACE_DEPRECATED("use tailrace_output_get_statistics")
static inline int tailrace_stream_get_statistics(const tailrace_output* stream,
                                                 tailrace_output_statistics* statistics) {
  return tailrace_output_get_statistics(stream, statistics);
}
TAILRACE_DEPRECATED("use tailrace_output_describe_statistics")
static inline int tailrace_stream_describe(const tailrace_output* stream, const char** text) {
  return tailrace_output_describe_statistics(stream, text);
}
TAILRACE_DEPRECATED("use tailrace_output_last_complete")
static inline int tailrace_stream_last_complete(const tailrace_output* stream, const char** path) {
  return tailrace_output_last_complete(stream, path);
}
TAILRACE_DEPRECATED("use tailrace_output_destroy")
static inline int tailrace_stream_destroy(tailrace_output** stream) {
  return tailrace_output_destroy(stream);
}

#ifdef __cplusplus
}
#endif
#endif
