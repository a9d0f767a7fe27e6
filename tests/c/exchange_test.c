/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "check.h"

enum { nz = 7, ny = 8, nx = 9 };

static double value_at(int64_t z, int64_t y, int64_t x, int field) {
  return (double)(((z * ny + y) * nx + x) * 10 + field);
}

/* Fills, or checks, this rank's dense part of a layout. */
static void fill(const tailrace_layout* layout, double* u, int field) {
  tailrace_box b;
  int64_t num_boxes = 0;
  OK(tailrace_layout_num_boxes(layout, this_rank, &num_boxes));
  for (int64_t n = 0; n < num_boxes; ++n) {
    OK(tailrace_layout_box(layout, this_rank, n, &b));
    for (int64_t z = 0; z < b.extents[0]; ++z)
      for (int64_t y = 0; y < b.extents[1]; ++y)
        for (int64_t x = 0; x < b.extents[2]; ++x)
          *u++ = value_at(b.start[0] + z, b.start[1] + y, b.start[2] + x, field);
  }
}
static int holds(const tailrace_layout* layout, const double* u, int field) {
  int64_t num_items = 0;
  OK(tailrace_layout_num_items(layout, this_rank, &num_items));
  double* wanted = malloc(sizeof(double) * (size_t)(num_items + 1));
  fill(layout, wanted, field);
  const int same = memcmp(u, wanted, sizeof(double) * (size_t)num_items) == 0;
  free(wanted);
  return same;
}

static void test_calls(const tailrace_comm* comm, const tailrace_layout* from,
                       const tailrace_layout* to, int64_t num_from, int64_t num_to) {
  tailrace_exchange_options options = tailrace_exchange_defaults();
  CHECK(options.item_bytes == 8 && options.num_fields == 1);
  options.num_fields = 2;
  options.method = "pairwise";
  tailrace_exchange* exchange = NULL;
  OK(tailrace_exchange_create(comm, from, NULL, to, NULL, &options, &exchange));
  const char* text = NULL;
  OK(tailrace_exchange_method(exchange, &text));
  CHECK(strcmp(text, "pairwise") == 0);
  OK(tailrace_exchange_why(exchange, &text));
  CHECK(strcmp(text, "") == 0);
  double* u[2];
  double* v[2];
  for (int f = 0; f < 2; ++f) {
    u[f] = malloc(sizeof(double) * (size_t)(num_from + 1));
    v[f] = calloc((size_t)(num_to + 1), sizeof(double));
    fill(from, u[f], f);
  }
  const void* sources[2] = {u[0], u[1]};
  void* destinations[2] = {v[0], v[1]};
  OK(tailrace_exchange_run_fields(exchange, 2, sources, num_from, destinations, num_to));
  CHECK(holds(to, v[0], 0) && holds(to, v[1], 1));
  memset(v[1], 0, sizeof(double) * (size_t)num_to);
  OK(tailrace_exchange_start_fields(exchange, 2, sources, num_from, destinations, num_to));
  int done = 0;
  OK(tailrace_exchange_progress(exchange, &done));
  OK(tailrace_exchange_finish(exchange));
  CHECK(holds(to, v[1], 1));
  int64_t bytes = -1;
  OK(tailrace_exchange_buffer_bytes(exchange, &bytes));
  CHECK(bytes >= 0);

  /* What all ranks do wrong is refused on all, and the exchange stays usable. */
  REFUSED(tailrace_exchange_run(exchange, u[0], num_from, v[0], num_to), TAILRACE_INVALID_INPUT,
          "2 fields");
  REFUSED(tailrace_exchange_run_fields(exchange, 2, sources, num_from + 1, destinations, num_to),
          TAILRACE_INVALID_INPUT, "the exchange was created for");
  REFUSED(tailrace_exchange_run_fields(exchange, 2, NULL, num_from, destinations, num_to),
          TAILRACE_INVALID_INPUT, "sources is NULL");
  OK(tailrace_exchange_run_fields(exchange, 2, sources, num_from, destinations, num_to));
  tailrace_exchange* copy = exchange;
  OK(tailrace_exchange_destroy(&exchange));
  REFUSED(tailrace_exchange_run(copy, u[0], num_from, v[0], num_to), TAILRACE_INVALID_INPUT,
          "destroyed");
  for (int f = 0; f < 2; ++f) {
    free(u[f]);
    free(v[f]);
  }
}

/* Into an array with a halo, and in place, and out of a node array. */
static void test_memory(const tailrace_comm* comm, const tailrace_layout* from,
                        const tailrace_layout* to, int64_t num_from, int64_t num_to) {
  double* u = malloc(sizeof(double) * (size_t)(num_from + num_to + 1));
  fill(from, u, 3);
  tailrace_box box;
  tailrace_memory* halo = NULL;
  OK(tailrace_layout_box(to, this_rank, 0, &box));
  OK(tailrace_memory_ordered(&box, NULL, (int64_t[]){1, 1, 1}, &halo));
  int64_t num_halo = 0;
  OK(tailrace_memory_num_items(halo, &num_halo));
  double* wide = calloc((size_t)num_halo, sizeof(double));
  tailrace_exchange* exchange = NULL;
  OK(tailrace_exchange_create(comm, from, NULL, to, halo, NULL, &exchange));
  OK(tailrace_exchange_run(exchange, u, num_from, wide, num_halo));
  const int64_t row = box.extents[2] + 2, plane = (box.extents[1] + 2) * row;
  CHECK(wide[0] == 0.0);
  CHECK(wide[plane + row + 1] == value_at(box.start[0], box.start[1], box.start[2], 3));
  OK(tailrace_exchange_destroy(&exchange));
  OK(tailrace_memory_destroy(&halo));
  free(wide);

  tailrace_exchange_options options = tailrace_exchange_defaults();
  options.in_place = 1;
  OK(tailrace_exchange_create(comm, from, NULL, to, NULL, &options, &exchange));
  OK(tailrace_exchange_run(exchange, u, num_from + num_to, u, num_from + num_to));
  CHECK(holds(to, u, 3));
  OK(tailrace_exchange_destroy(&exchange));

  tailrace_node_array* array = NULL;
  void* data = NULL;
  OK(tailrace_node_array_create(comm, num_from * (int64_t)sizeof(double), &array));
  OK(tailrace_node_array_data(array, &data));
  fill(from, data, 4);
  OK(tailrace_exchange_create(comm, from, NULL, to, NULL, NULL, &exchange));
  OK(tailrace_exchange_expose(exchange, array));
  OK(tailrace_exchange_run(exchange, data, num_from, u, num_to));
  CHECK(holds(to, u, 4));
  OK(tailrace_exchange_destroy(&exchange));
  OK(tailrace_node_array_destroy(&array));
  free(u);
}

static void test_refusals(const tailrace_comm* comm, const tailrace_layout* from,
                          const tailrace_layout* to) {
  tailrace_exchange* exchange = NULL;
  tailrace_exchange_options options = tailrace_exchange_defaults();
  options.method = "paiwise";
  REFUSED(tailrace_exchange_create(comm, from, NULL, to, NULL, &options, &exchange),
          TAILRACE_INVALID_INPUT, "paiwise");
  options = tailrace_exchange_defaults();
  if (this_rank == all_ranks - 1) options.item_bytes = 0;
  REFUSED(tailrace_exchange_create(comm, from, NULL, to, NULL, &options, &exchange),
          TAILRACE_INVALID_INPUT, "");
  /* One rank gives no layout: all fail. */
  REFUSED(tailrace_exchange_create(comm, from, NULL, this_rank == all_ranks - 1 ? NULL : to, NULL,
                                   NULL, &exchange),
          TAILRACE_INVALID_INPUT, "the tailrace_layout given is NULL");
  CHECK(tailrace_error_rank() == all_ranks - 1);
  CHECK(exchange == NULL);
  REFUSED(tailrace_exchange_create(NULL, from, NULL, to, NULL, NULL, &exchange),
          TAILRACE_INVALID_INPUT, "the tailrace_comm given is NULL");
  const char *name = NULL, *summary = NULL;
  OK(tailrace_exchange_method_info(0, &name, &summary));
  CHECK(strlen(name) > 0 && strlen(summary) > 0);
  REFUSED(tailrace_exchange_method_info(1000, &name, &summary), TAILRACE_INVALID_INPUT, "index");
}

void test_exchange(const tailrace_comm* comm) {
  const int64_t extents[3] = {nz, ny, nx};
  tailrace_layout *from = NULL, *to = NULL;
  OK(tailrace_layout_slabs(3, extents, 0, all_ranks, &from));
  OK(tailrace_layout_slabs(3, extents, 2, all_ranks, &to));
  int64_t num_from = 0, num_to = 0;
  OK(tailrace_layout_num_items(from, this_rank, &num_from));
  OK(tailrace_layout_num_items(to, this_rank, &num_to));
  test_calls(comm, from, to, num_from, num_to);
  test_memory(comm, from, to, num_from, num_to);
  test_refusals(comm, from, to);
  OK(tailrace_layout_destroy(&from));
  OK(tailrace_layout_destroy(&to));
}
