/* SPDX-License-Identifier: BSD-3-Clause */
#include <complex.h>

#include "check.h"

void test_reduction(const tailrace_comm* comm) {
  tailrace_reduction_options options = tailrace_reduction_defaults();
  options.max_items = 4;
  tailrace_reduction* reduction = NULL;
  OK(tailrace_reduction_create(comm, &options, &reduction));
  const double n = all_ranks, sum = n * (n + 1) / 2;
  const double mine = this_rank + 1;
  double out[4] = {0};
  const double in[4] = {mine, -mine, 1, 0};
  OK(tailrace_reduction_allreduce(reduction, in, out, 4, TAILRACE_FLOAT64, TAILRACE_SUM));
  CHECK(out[0] == sum && out[1] == -sum && out[2] == n && out[3] == 0);
  int32_t whole[2] = {this_rank, -this_rank};
  OK(tailrace_reduction_allreduce(reduction, whole, whole, 2, TAILRACE_INT32, TAILRACE_MAX));
  CHECK(whole[0] == all_ranks - 1 && whole[1] == 0);
  int64_t least = this_rank + 5;
  OK(tailrace_reduction_start_allreduce(reduction, &least, &least, 1, TAILRACE_INT64,
                                        TAILRACE_MIN));
  int done = 0;
  OK(tailrace_reduction_progress(reduction, &done));
  OK(tailrace_reduction_finish(reduction));
  CHECK(least == 5);
  float single = (float)mine;
  OK(tailrace_reduction_reduce(reduction, &single, 1, TAILRACE_FLOAT32, TAILRACE_SUM, 0));
  CHECK(this_rank != 0 || single == (float)sum);
  OK(tailrace_reduction_start_reduce(reduction, &single, 1, TAILRACE_FLOAT32, TAILRACE_SUM,
                                     all_ranks - 1));
  OK(tailrace_reduction_finish(reduction));
  OK(tailrace_reduction_barrier(reduction));
  OK(tailrace_reduction_start_barrier(reduction));
  OK(tailrace_reduction_finish(reduction));

  const double complex x[2] = {1 + 2 * I, mine}, y[2] = {I, 1};
  double complex dot = 0;
  const void *left[1] = {x}, *right[1] = {y};
  OK(tailrace_reduction_dots(reduction, 1, left, right, (int64_t[]){2}, TAILRACE_COMPLEX128, &dot));
  CHECK(dot == 2 * n + sum + n * I); /* conj(1 + 2i) i = 2 + i */
  OK(tailrace_reduction_start_dots(reduction, 1, left, right, (int64_t[]){1}, TAILRACE_COMPLEX128,
                                   &dot));
  OK(tailrace_reduction_finish(reduction));
  CHECK(dot == 2 * n + n * I);
  const void* parts[2] = {in, in};
  OK(tailrace_reduction_allreduce_parts(reduction, 2, parts, out, 4, TAILRACE_FLOAT64,
                                        TAILRACE_SUM));
  CHECK(out[0] == 2 * sum);
  const char* text = NULL;
  OK(tailrace_reduction_method(reduction, &text));
  CHECK(strlen(text) > 0);
  OK(tailrace_reduction_why(reduction, &text));

  REFUSED(tailrace_reduction_allreduce(reduction, in, out, 5, TAILRACE_FLOAT64, TAILRACE_SUM),
          TAILRACE_INVALID_INPUT, "5");
  REFUSED(tailrace_reduction_allreduce(reduction, in, out, 4, TAILRACE_UINT8, TAILRACE_SUM),
          TAILRACE_INVALID_INPUT, "type 6 cannot be reduced");
  REFUSED(tailrace_reduction_allreduce(reduction, in, out, 4, TAILRACE_FLOAT64, 9),
          TAILRACE_INVALID_INPUT, "op: 9");
  REFUSED(tailrace_reduction_allreduce(reduction, x, &dot, 1, TAILRACE_COMPLEX128, TAILRACE_MAX),
          TAILRACE_INVALID_INPUT, "");
  REFUSED(tailrace_reduction_allreduce(reduction, NULL, out, 4, TAILRACE_FLOAT64, TAILRACE_SUM),
          TAILRACE_INVALID_INPUT, "in is NULL");
  OK(tailrace_reduction_destroy(&reduction));
  options.type = TAILRACE_INT8;
  REFUSED(tailrace_reduction_create(comm, &options, &reduction), TAILRACE_INVALID_INPUT, "type 4");
}
