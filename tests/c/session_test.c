/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "check.h"

static const int64_t extents[2] = {7, 6};

/* Stages of products: doubles all items; and one that fails. */
static int twice(int64_t step, int num_parts, tailrace_part* parts, void* user) {
  for (int p = 0; p < num_parts; ++p) {
    double* items = parts[p].data;
    for (int64_t i = 0; i < parts[p].num_items; ++i) items[i] *= *(const double*)user;
  }
  return step >= 0 ? 0 : 1;
}
static int three(int64_t step, int num_parts, tailrace_part* parts, void* user) {
  (void)step, (void)num_parts, (void)parts, (void)user;
  return 3;
}
static int square(int64_t step, int64_t task, double* value, void* user) {
  (void)user;
  *value = (double)(task * task + step);
  return 0;
}

/* The whole of a variable is `factor` times its number of the item. */
static void check_file(const tailrace_comm* comm, const char* path, double factor) {
  tailrace_input* input = NULL;
  OK(tailrace_input_open(comm, path, NULL, &input));
  double all[42] = {0};
  OK(tailrace_input_read_all(input, "u", TAILRACE_FLOAT64, all, 42));
  for (int i = 0; i < 42; ++i) CHECK(all[i] == factor * i);
  OK(tailrace_input_destroy(&input));
}

/* Writes two steps by a session's output, on the ranks that compute. */
static void compute(tailrace_session* session, const char* folder, const char* servers) {
  tailrace_comm* comm = NULL;
  OK(tailrace_session_comm(session, &comm));
  int rank = 0, num_ranks = 0;
  OK(tailrace_comm_rank(comm, &rank));
  OK(tailrace_comm_num_ranks(comm, &num_ranks));
  tailrace_layout* layout = NULL;
  OK(tailrace_layout_slabs(2, extents, 0, num_ranks, &layout));
  int64_t num_items = 0, before = 0;
  for (int r = 0; r < rank; ++r) {
    OK(tailrace_layout_num_items(layout, r, &num_items));
    before += num_items;
  }
  OK(tailrace_layout_num_items(layout, rank, &num_items));
  double* u = malloc(sizeof(double) * (size_t)(num_items + 1));
  for (int64_t i = 0; i < num_items; ++i) u[i] = (double)(before + i);

  const char* const doubled[1] = {"call name=twice"};
  tailrace_product products[1] = {tailrace_product_defaults()};
  products[0].name = "doubled";
  products[0].num_stages = 1;
  products[0].stages = doubled;
  tailrace_output_options options = tailrace_output_defaults();
  options.num_products = 1;
  options.products = products;
  tailrace_output* output = NULL;
  OK(tailrace_session_open_output(session, "fields", &options, &output));
  tailrace_contents* contents = NULL;
  OK(tailrace_contents_create(&contents));
  OK(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, NULL, u, num_items));
  char path[1024], product[1100];
  int result = -1;
  for (int step = 1; step <= 2; ++step) {
    snprintf(path, sizeof path, "%s/c_output_%s_%d.h5", folder, servers, step);
    OK(tailrace_contents_step(contents, step));
    OK(tailrace_output_write(output, path, contents));
    OK(tailrace_output_last_result(output, &result));
    CHECK(result == TAILRACE_STAGED || result == TAILRACE_WRITTEN);
    OK(tailrace_output_progress(output));
  }
  OK(tailrace_output_finish(output));
  const char* text = NULL;
  OK(tailrace_output_last_complete(output, &text));
  CHECK(strcmp(text, path) == 0);
  OK(tailrace_output_describe(output, &text));
  CHECK(strlen(text) > 0);
  tailrace_output_statistics seen;
  OK(tailrace_output_get_statistics(output, &seen));
  CHECK(seen.steps == 2 && seen.complete == 2 && seen.failed == 0);
  REFUSED(tailrace_output_write(output, NULL, contents), TAILRACE_INVALID_INPUT, "path");
  OK(tailrace_output_destroy(&output));
  check_file(comm, path, 1);
  snprintf(product, sizeof product, "%s/c_output_%s_2_doubled.h5", folder, servers);
  check_file(comm, product, 2);

  /* A function that fails is an error of the output, on all ranks. */
  const char* const failing[1] = {"call name=three"};
  products[0].stages = failing;
  OK(tailrace_session_open_output(session, "failing", &options, &output));
  int status = tailrace_output_write(output, path, contents);
  if (status == TAILRACE_OK) status = tailrace_output_finish(output);
  REFUSED(status, TAILRACE_INVALID_INPUT, "the function three of the program returned 3");
  OK(tailrace_output_destroy(&output));
  /* Two names for the same: the run continues after a file that cannot be written. */
  const int continues[2] = {TAILRACE_PROCEED, TAILRACE_CONTINUE};
  for (int k = 0; k < 2; ++k) {
    tailrace_output_options proceeding = tailrace_output_defaults();
    proceeding.on_failure = continues[k];
    snprintf(path, sizeof path, "%s/missing/c_output.h5", folder);
    const char* const name = k == 0 ? "proceeds" : "continues";
    OK(tailrace_session_open_output(session, name, &proceeding, &output));
    OK(tailrace_output_write(output, path, contents));
    OK(tailrace_output_finish(output));
    OK(tailrace_output_get_statistics(output, &seen));
    CHECK(seen.failed == 1);
    OK(tailrace_output_destroy(&output));
  }
  products[0].name = NULL;
  REFUSED(tailrace_session_open_output(session, "wrong", &options, &output), TAILRACE_INVALID_INPUT,
          "name of a product is NULL");
  options = tailrace_output_defaults();
  options.when_full = 9;
  REFUSED(tailrace_session_open_output(session, "wrong", &options, &output), TAILRACE_INVALID_INPUT,
          "when_full: 9");
  options = tailrace_output_defaults();
  options.on_failure = 2;
  REFUSED(tailrace_session_open_output(session, "wrong", &options, &output), TAILRACE_INVALID_INPUT,
          "on_failure: 2");
  options = tailrace_output_defaults();
  options.servers = "none"; /* the session says so */
  REFUSED(tailrace_session_open_output(session, "wrong", &options, &output), TAILRACE_INVALID_INPUT,
          "servers");
  OK(tailrace_contents_destroy(&contents));
  OK(tailrace_layout_destroy(&layout));
  OK(tailrace_comm_destroy(&comm));
  free(u);
}

static const double factor = 2;
static tailrace_function functions[4] = {{"twice", twice, NULL, (void*)&factor},
                                         {"three", three, NULL, NULL},
                                         {"square", NULL, square, NULL},
                                         {"twice", twice, NULL, NULL}};

int serve_this_test(int num_words, const char* const* words) {
  int exit_status = -1;
  OK(tailrace_serve_as_process(num_words, words, 3, functions, &exit_status));
  return exit_status;
}

/* What is no program of servers, and what none is started with. */
static void test_server_program(void) {
  const char* words[1] = {"/nowhere/server"};
  tailrace_output_options options = tailrace_output_defaults();
  options.servers = "process";
  options.num_server_words = 1;
  options.server_program = words;
  tailrace_session* session = NULL;
  REFUSED(tailrace_session_create(MPI_COMM_WORLD, &options, &session), TAILRACE_IO,
          "/nowhere/server");
  int exit_status = 0;
  OK(tailrace_serve_as_process(1, words, 3, functions, &exit_status));
  CHECK(exit_status != 0); /* that is no word of the library */
  REFUSED(tailrace_serve_as_process(1, words, 3, functions, NULL), TAILRACE_INVALID_INPUT,
          "exit_status is NULL");
  REFUSED(tailrace_serve_as_process(1, words, 4, functions, &exit_status), TAILRACE_INVALID_INPUT,
          "two functions are called twice");
  words[0] = NULL;
  REFUSED(tailrace_serve_as_process(1, words, 3, functions, &exit_status), TAILRACE_INVALID_INPUT,
          "words is NULL");
  REFUSED(tailrace_session_create(MPI_COMM_WORLD, &options, &session), TAILRACE_INVALID_INPUT,
          "server_program is NULL");
}

void test_session(const char* program, const char* folder) {
  const char* const server_program[2] = {program, "serve"};
  const char* const kinds[4] = {"none", "thread", "process", "1"};
  for (int k = 0; k < (all_ranks > 1 ? 4 : 3); ++k) {
    tailrace_output_options options = tailrace_output_defaults();
    options.servers = kinds[k];
    options.folder = folder;
    options.num_functions = 3;
    options.functions = functions;
    options.num_server_words = 2;
    options.server_program = server_program;
    tailrace_session* session = NULL;
    OK(tailrace_session_create(MPI_COMM_WORLD, &options, &session));
    const char* text = NULL;
    OK(tailrace_session_describe(session, &text));
    CHECK(strlen(text) > 0);
    int computes = 0, lost = 0, num_servers = -1;
    OK(tailrace_session_num_servers(session, &num_servers));
    CHECK(k == 0 ? num_servers == 0 : num_servers > 0);
    OK(tailrace_session_transport(session, &text));
    OK(tailrace_session_computes(session, &computes));
    if (computes) {
      REFUSED(tailrace_session_serve(session, &lost), TAILRACE_INVALID_INPUT, "computes");
      compute(session, folder, kinds[k]);
      OK(tailrace_session_close(session));
    } else {
      tailrace_comm* comm = NULL;
      REFUSED(tailrace_session_comm(session, &comm), TAILRACE_INVALID_INPUT, "serves");
      OK(tailrace_session_serve(session, &lost));
    }
    OK(tailrace_session_destroy(&session));
  }
  test_server_program();
  tailrace_output_options options = tailrace_output_defaults();
  options.servers = "many";
  tailrace_session* session = NULL;
  REFUSED(tailrace_session_create(MPI_COMM_WORLD, &options, &session), TAILRACE_INVALID_INPUT,
          "many");
  options = tailrace_output_defaults();
  options.strategy = "grouped"; /* each output says so */
  REFUSED(tailrace_session_create(MPI_COMM_WORLD, &options, &session), TAILRACE_INVALID_INPUT,
          "strategy");
  options = tailrace_output_defaults();
  options.num_functions = 4;
  options.functions = functions;
  REFUSED(tailrace_session_create(MPI_COMM_WORLD, &options, &session), TAILRACE_INVALID_INPUT,
          "two functions are called twice");
  functions[3].stage = NULL;
  REFUSED(tailrace_session_create(MPI_COMM_WORLD, &options, &session), TAILRACE_INVALID_INPUT,
          "function twice: exactly one of stage and task");
  options.functions = NULL;
  REFUSED(tailrace_session_create(MPI_COMM_WORLD, &options, &session), TAILRACE_INVALID_INPUT,
          "functions");
}
