/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the tests of the C face: failures are counted on each rank and added up at the end. */
#ifndef TAILRACE_TESTS_C_CHECK_H
#define TAILRACE_TESTS_C_CHECK_H

#include <stdio.h>
#include <string.h>

#include "tailrace.h"

extern int num_failures;
extern int this_rank;
extern int all_ranks;

static inline void fail(const char* what, const char* file, int line) {
  ++num_failures;
  fprintf(stderr, "[rank %d] %s:%d: %s; last error: %s\n", this_rank, file, line, what,
          tailrace_error());
}

#define CHECK(condition)                                    \
  do {                                                      \
    if (!(condition)) fail(#condition, __FILE__, __LINE__); \
  } while (0)
/* The call succeeds. */
#define OK(call) CHECK((call) == TAILRACE_OK)
/* The call is refused with this status, and the error holds this text. */
#define REFUSED(call, status, text)                                        \
  do {                                                                     \
    const int returned_ = (call);                                          \
    if (returned_ != (status) || tailrace_error_code() != (status) ||      \
        strstr(tailrace_error(), text) == NULL)                            \
      fail(#call " is not refused with \"" text "\"", __FILE__, __LINE__); \
  } while (0)

void test_handles(const tailrace_comm* comm);
void test_layout(const tailrace_comm* comm);
void test_exchange(const tailrace_comm* comm);
void test_reduction(const tailrace_comm* comm);
void test_transform(const tailrace_comm* comm);
void test_output(const tailrace_comm* comm, const char* folder);
void test_output_errors(const tailrace_comm* comm, const char* folder);
void test_session(const char* program, const char* folder);
int serve_this_test(int num_words, const char* const* words);
void test_file_and_tuner(const tailrace_comm* comm, const char* folder);
void test_trace_and_log(const tailrace_comm* comm, const char* folder);

#endif
