/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of 0.1: its names still compile, with warnings, and do what they did.
   Usage: mpirun -n 3 c_names_01 FOLDER */
#include <stdlib.h>
#include <sys/stat.h>

#include "check.h"

int num_failures = 0;
int this_rank = 0;
int all_ranks = 1;

static const int64_t extents[2] = {7, 6};
static double u[42];

static void check_file(const tailrace_comm* comm, const char* path) {
  tailrace_input* input = NULL;
  double all[42] = {0};
  OK(tailrace_input_open(comm, path, NULL, &input));
  OK(tailrace_input_read_all(input, "u", TAILRACE_FLOAT64, all, 42));
  for (int i = 0; i < 42; ++i) CHECK(all[i] == 7);
  OK(tailrace_input_destroy(&input));
}

/* A file of sevens. */
static tailrace_contents* make_contents(const tailrace_comm* comm) {
  int rank = 0, num_ranks = 0;
  OK(tailrace_comm_rank(comm, &rank));
  OK(tailrace_comm_num_ranks(comm, &num_ranks));
  tailrace_layout* layout = NULL;
  OK(tailrace_layout_slabs(2, extents, 0, num_ranks, &layout));
  int64_t num_items = 0;
  OK(tailrace_layout_num_items(layout, rank, &num_items));
  tailrace_contents* contents = NULL;
  OK(tailrace_contents_create(&contents));
  OK(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, NULL, u, num_items));
  OK(tailrace_layout_destroy(&layout));
  return contents;
}

static void test_modes(const tailrace_comm* comm, const char* folder) {
  tailrace_contents* contents = make_contents(comm);
  for (int mode = TAILRACE_SYNCHRONOUS; mode <= TAILRACE_HIDDEN; ++mode) {
    char path[1024];
    snprintf(path, sizeof path, "%s/mode_%d.h5", folder, mode);
    tailrace_output_options options = tailrace_output_defaults();
    CHECK(options.mode == TAILRACE_HIDDEN);
    options.mode = mode;
    tailrace_output* output = NULL;
    int result = -1;
    OK(tailrace_output_create(comm, &options, &output));
    OK(tailrace_output_write(output, path, contents));
    OK(tailrace_output_last_result(output, &result));
    CHECK(result == (mode == TAILRACE_SYNCHRONOUS ? TAILRACE_WRITTEN : TAILRACE_STAGED));
    OK(tailrace_output_finish(output));
    OK(tailrace_output_destroy(&output));
    check_file(comm, path);
  }
  OK(tailrace_contents_destroy(&contents));
}

static void test_stream(const char* servers, const char* folder) {
  tailrace_session_options settings = tailrace_session_defaults();
  settings.servers = servers;
  settings.folder = folder;
  settings.watchdog_s = 300;
  tailrace_session* session = NULL;
  OK(tailrace_session_create(MPI_COMM_WORLD, &settings, &session));
  tailrace_comm* comm = NULL;
  OK(tailrace_session_comm(session, &comm));
  tailrace_contents* contents = make_contents(comm);
  const char* const stages[1] = {"convert type=float64"};
  tailrace_product product = tailrace_product_defaults();
  product.name = "same";
  product.num_stages = 1;
  product.stages = stages;
  tailrace_stream_options options = tailrace_stream_defaults();
  CHECK(options.wait_limit_s == 600 && options.variables == 1);
  options.num_products = 1;
  options.products = &product;
  options.output.buffered_files = 3;
  tailrace_stream *stream = NULL, *other = NULL;
  OK(tailrace_session_open(session, "fields", &options, &stream));
  OK(tailrace_session_open(session, "others", NULL, &other));
  char path[1024], made[1100], beside[1100];
  snprintf(path, sizeof path, "%s/stream_%s.h5", folder, servers);
  snprintf(made, sizeof made, "%s/stream_%s_same.h5", folder, servers);
  snprintf(beside, sizeof beside, "%s/stream_%s_other.h5", folder, servers);
  int result = -1;
  OK(tailrace_stream_write(stream, path, contents, &result));
  CHECK(result == TAILRACE_STAGED || result == TAILRACE_WRITTEN);
  OK(tailrace_stream_write(other, beside, contents, NULL));
  OK(tailrace_stream_progress(stream));
  OK(tailrace_stream_finish(stream));
  const char* text = NULL;
  OK(tailrace_stream_last_complete(stream, &text));
  CHECK(strcmp(text, path) == 0);
  OK(tailrace_stream_describe(stream, &text));
  CHECK(strstr(text, "1 of 1 steps") != NULL);
  tailrace_output_statistics seen;
  OK(tailrace_stream_get_statistics(stream, &seen));
  CHECK(seen.complete == 1);
  REFUSED(tailrace_stream_write(stream, NULL, contents, NULL), TAILRACE_INVALID_INPUT, "path");
  OK(tailrace_stream_finish(other));
  OK(tailrace_stream_destroy(&stream));
  OK(tailrace_stream_destroy(&other));
  check_file(comm, path);
  check_file(comm, made);
  check_file(comm, beside);
  OK(tailrace_contents_destroy(&contents));
  OK(tailrace_comm_destroy(&comm));
  OK(tailrace_session_close(session));
  OK(tailrace_session_destroy(&session));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &this_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  if (this_rank == 0) mkdir(argv[1], 0777);
  for (int i = 0; i < 42; ++i) u[i] = 7;
  tailrace_comm* comm = NULL;
  OK(tailrace_comm_create(MPI_COMM_WORLD, &comm));
  test_modes(comm, argv[1]);
  OK(tailrace_comm_destroy(&comm));
  test_stream("none", argv[1]);
  test_stream("thread", argv[1]);
  MPI_Allreduce(MPI_IN_PLACE, &num_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return num_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
