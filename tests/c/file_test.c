/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "check.h"

/* Each rank writes a row of four items behind a header of 16 bytes, and reads its neighbour's. */
static void test_boxes(tailrace_file_pool* pool, const char* path) {
  const int64_t extents[2] = {all_ranks, 4};
  tailrace_file_part *own = NULL, *next = NULL, *runs = NULL;
  const int neighbour = (this_rank + 1) % all_ranks;
  const tailrace_box row = {2, {this_rank, 0}, {1, 4}}, other = {2, {neighbour, 0}, {1, 4}};
  OK(tailrace_file_part_boxes(16, 2, extents, 8, 1, &row, NULL, &own));
  OK(tailrace_file_part_boxes(16, 2, extents, 8, 1, &other, NULL, &next));
  int64_t num_bytes = 0;
  OK(tailrace_file_part_bytes(own, &num_bytes));
  CHECK(num_bytes == 32);
  double u[4] = {this_rank, this_rank + 0.25, this_rank + 0.5, this_rank + 0.75}, v[4] = {0};

  tailrace_hints* hints = NULL;
  OK(tailrace_hints_create(&hints));
  OK(tailrace_hints_set(hints, "cb_nodes", "1"));
  tailrace_file* file = NULL;
  OK(tailrace_file_open(pool, path, TAILRACE_FILE_WRITE, hints, NULL, &file));
  OK(tailrace_hints_destroy(&hints));
  OK(tailrace_file_write(file, own, u, 32));
  const char *name = NULL, *value = NULL, *source = NULL;
  OK(tailrace_file_setting(file, 0, &name, &value, &source));
  CHECK(strlen(name) > 0 && strlen(source) > 0);
  REFUSED(tailrace_file_setting(file, 1000, &name, &value, &source), TAILRACE_INVALID_INPUT,
          "index");
  REFUSED(tailrace_file_write(file, own, u, 24), TAILRACE_INVALID_INPUT, "the part has 32");
  REFUSED(tailrace_file_write(file, NULL, u, 32), TAILRACE_INVALID_INPUT,
          "file_part given is NULL");
  OK(tailrace_file_close(file));
  REFUSED(tailrace_file_close(file), TAILRACE_INVALID_INPUT, "is closed");
  tailrace_file_statistics seen;
  OK(tailrace_file_get_total_statistics(file, &seen));
  CHECK(seen.bytes_written >= 32 * all_ranks);
  OK(tailrace_file_get_statistics(file, &seen));
  OK(tailrace_file_destroy(&file));

  OK(tailrace_file_open(pool, path, TAILRACE_FILE_READ, NULL, NULL, &file));
  OK(tailrace_file_read(file, next, v, 32));
  CHECK(v[0] == neighbour && v[3] == neighbour + 0.75);
  /* The last item of the neighbour and its first, in this order. */
  const int64_t offsets[2] = {16 + 32 * neighbour + 24, 16 + 32 * neighbour};
  OK(tailrace_file_part_runs(2, offsets, (int64_t[]){8, 8}, &runs));
  OK(tailrace_file_read(file, runs, v, 16));
  CHECK(v[0] == neighbour + 0.75 && v[1] == neighbour);
  OK(tailrace_file_close(file));
  OK(tailrace_file_destroy(&file));
  OK(tailrace_file_part_destroy(&own));
  OK(tailrace_file_part_destroy(&next));
  OK(tailrace_file_part_destroy(&runs));
  REFUSED(
      tailrace_file_part_boxes(0, 2, extents, 8, 1, &(tailrace_box){2, {0, 2}, {1, 4}}, NULL, &own),
      TAILRACE_INVALID_INPUT, "");
}

static int num_runs[2];
static int run_first(void* user) {
  (void)user;
  ++num_runs[0];
  return 0;
}
static int run_failing(void* user) {
  (void)user;
  ++num_runs[1];
  return 1;
}
static uint64_t checksum(void* user) {
  (void)user;
  return 7;
}

static void test_tuner(const tailrace_comm* comm) {
  const tailrace_candidate candidates[2] = {{"plain", run_first, checksum, NULL},
                                            {"failing", run_failing, NULL, NULL}};
  tailrace_tune_problem problem = {"test of C", "size=1", "plain", 0};
  tailrace_tune_settings settings = tailrace_tune_defaults();
  settings.budget_s = 1;
  int chosen = -1;
  const char* why = NULL;
  OK(tailrace_tune_choose(comm, &problem, 2, candidates, &settings, &chosen, &why));
  CHECK(chosen == 0 && strlen(why) > 0);
  CHECK(num_runs[0] > 0 && num_runs[1] > 0); /* both were tried */
  settings.mode = TAILRACE_TUNE_OFF;
  num_runs[0] = 0;
  OK(tailrace_tune_choose(comm, &problem, 2, candidates, &settings, &chosen, NULL));
  CHECK(chosen == 0 && num_runs[0] == 0);
  problem.fallback = "no such";
  REFUSED(tailrace_tune_choose(comm, &problem, 2, candidates, &settings, &chosen, NULL),
          TAILRACE_INVALID_INPUT, "fallback");
  REFUSED(tailrace_tune_choose(comm, &problem, 0, NULL, NULL, &chosen, NULL),
          TAILRACE_INVALID_INPUT, "there must be a candidate");
}

void test_file_and_tuner(const tailrace_comm* comm, const char* folder) {
  char path[1024];
  snprintf(path, sizeof path, "%s/c_file.bin", folder);
  tailrace_file_pool* pool = NULL;
  OK(tailrace_file_pool_create(comm, &pool));
  test_boxes(pool, path);
  tailrace_file* file = NULL;
  REFUSED(tailrace_file_open(pool, "/no/such/file", TAILRACE_FILE_READ, NULL, NULL, &file),
          TAILRACE_IO, "/no/such/file");
  CHECK(tailrace_error_errno() == ENOENT && strcmp(tailrace_error_path(), "/no/such/file") == 0);
  REFUSED(
      tailrace_file_open(pool, path, this_rank == 0 ? 7 : TAILRACE_FILE_READ, NULL, NULL, &file),
      TAILRACE_INVALID_INPUT, "access: 7");
  OK(tailrace_file_pool_destroy(&pool));
  test_tuner(comm);
}
