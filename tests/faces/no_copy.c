/* SPDX-License-Identifier: BSD-3-Clause */
/* The C face copies no array: calls that have run once take no large memory, and what is kept is
 * the address. Usage: mpirun -n 2 no_copy_c FOLDER */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tailrace.h"
#include "watch_memory.h"

static int num_failures = 0;

static void check(int good, const char* what) {
  if (good) return;
  ++num_failures;
  fprintf(stderr, "not so: %s; last error: %s\n", what, tailrace_error());
}
#define OK(call) check((call) == TAILRACE_OK, #call)
/* Once to warm up, and then without taking memory. */
#define TAKES_NOTHING(call)                                    \
  do {                                                         \
    OK(call);                                                  \
    const long long before_ = watched_bytes();                 \
    OK(call);                                                  \
    check(watched_bytes() == before_, #call " takes nothing"); \
  } while (0)

enum { n = 128 };
typedef struct {
  tailrace_layout* layout;
  int64_t num_items;
  double* data;
} array;

static array array_of_slabs(int axis, int rank, int num_ranks) {
  array made = {NULL, 0, NULL};
  OK(tailrace_layout_slabs(3, (int64_t[]){n, n, n}, axis, num_ranks, &made.layout));
  OK(tailrace_layout_num_items(made.layout, rank, &made.num_items));
  made.data = calloc((size_t)made.num_items, sizeof(double));
  return made;
}

static void moves(const tailrace_comm* comm, const array* u, const array* v) {
  tailrace_exchange* exchange = NULL;
  OK(tailrace_exchange_create(comm, u->layout, NULL, v->layout, NULL, NULL, &exchange));
  TAKES_NOTHING(tailrace_exchange_run(exchange, u->data, u->num_items, v->data, v->num_items));
  OK(tailrace_exchange_destroy(&exchange));

  tailrace_reduction_options options = tailrace_reduction_defaults();
  options.max_items = n * n;
  tailrace_reduction* reduction = NULL;
  OK(tailrace_reduction_create(comm, &options, &reduction));
  TAKES_NOTHING(tailrace_reduction_allreduce(reduction, u->data, u->data, n * n, TAILRACE_FLOAT64,
                                             TAILRACE_SUM));
  OK(tailrace_reduction_destroy(&reduction));

  tailrace_transform* transform = NULL;
  OK(tailrace_transform_create(comm, (int64_t[]){n, n, n}, NULL, &transform));
  int64_t num_items = 0, num_modes = 0;
  OK(tailrace_transform_sizes(transform, &num_items, &num_modes));
  double* field = calloc((size_t)num_items, sizeof(double));
  double* modes = calloc((size_t)num_modes, 2 * sizeof(double));
  const void *in[] = {field}, *back_in[] = {modes};
  void *out[] = {modes}, *back_out[] = {field};
  TAKES_NOTHING(tailrace_transform_forward(transform, 1, in, num_items, out, num_modes));
  TAKES_NOTHING(tailrace_transform_backward(transform, 1, back_in, num_modes, back_out, num_items));
  OK(tailrace_transform_destroy(&transform));
  free(field);
  free(modes);
}

/* A file gets what the array holds when it is written, not when it was named. */
static void files(const tailrace_comm* comm, const array* u, const array* v, const char* folder) {
  char path[1000];
  snprintf(path, sizeof path, "%s/no_copy.h5", folder);
  tailrace_contents* contents = NULL;
  OK(tailrace_contents_create(&contents));
  OK(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, u->layout, NULL, u->data,
                                u->num_items));
  for (int64_t i = 0; i < u->num_items; ++i) u->data[i] = 7;
  tailrace_output_options options = tailrace_output_defaults();
  options.buffered_files = 1; /* one staging buffer, which the first file takes */
  tailrace_output* output = NULL;
  OK(tailrace_output_create(comm, &options, &output));
  OK(tailrace_output_write(output, path, contents));
  OK(tailrace_output_finish(output));
  TAKES_NOTHING(tailrace_output_write(output, path, contents));
  OK(tailrace_output_finish(output));
  OK(tailrace_output_destroy(&output));
  OK(tailrace_contents_destroy(&contents));

  tailrace_input* input = NULL; /* whose readers have buffers, in every language */
  OK(tailrace_input_open(comm, path, NULL, &input));
  OK(tailrace_input_read(input, "u", TAILRACE_FLOAT64, v->layout, NULL, v->data, v->num_items));
  check(v->data[0] == 7 && v->data[v->num_items - 1] == 7, "the file has the later values");
  OK(tailrace_input_destroy(&input));
}

int main(int argc, char** argv) {
  int provided = 0, rank = 0, num_ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  if (rank == 0 && argc > 1) mkdir(argv[1], 0777);
  tailrace_comm* comm = NULL;
  OK(tailrace_comm_create(MPI_COMM_WORLD, &comm));
  const long long before = watched_bytes();
  array u = array_of_slabs(0, rank, num_ranks), v = array_of_slabs(2, rank, num_ranks);
  check(watched_bytes() - before == 8 * (u.num_items + v.num_items), "the watch sees memory");
  moves(comm, &u, &v);
  files(comm, &u, &v, argc > 1 ? argv[1] : ".");
  for (array* one = &u; one != NULL; one = one == &u ? &v : NULL) {
    OK(tailrace_layout_destroy(&one->layout));
    free(one->data);
  }
  OK(tailrace_comm_destroy(&comm));
  MPI_Allreduce(MPI_IN_PLACE, &num_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return num_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
