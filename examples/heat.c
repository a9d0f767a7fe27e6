/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat spreads from a hot spot in a periodic box of side 2 pi: du/dt = laplace u, exactly solved in
   Fourier space, with the field written to HDF5 files while the program computes. The same
   program as heat.cpp, with the same files.
     mpirun -n 2 heat_c [points along each axis] [folder]
   Fails if the result differs from the exact solution. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tailrace.h"

static const double start_time = 0.1, time_step = 0.005;
enum { num_steps = 40, output_every = 10 };

/* Ends the job with the message of a call that failed. */
static void check(int status) {
  if (status == TAILRACE_OK) return;
  fprintf(stderr, "heat_c: error: %s\n", tailrace_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* allocate(int64_t num_items, size_t item_bytes) {
  void* array = malloc((size_t)num_items * item_bytes + 1);
  if (array == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return array;
}

/* A line of the exact solution at time t, which is the product of three such lines. */
static double* exact_line(int64_t n, double t) {
  const double pi = 3.141592653589793;
  double* line = allocate(n, sizeof *line);
  for (int64_t i = 0; i < n; ++i) {
    const double x = 2 * pi * (double)i / (double)n;
    line[i] = 1.0;
    for (int k = 1; k < n / 2; ++k) line[i] += 2 * exp(-t * k * k) * cos(k * x);
  }
  return line;
}

/* This rank's part of the exact solution: `box` of the grid, index order (z, y, x). */
static void exact_field(const tailrace_box* box, int64_t n, double t, double* u) {
  double* line = exact_line(n, t);
  for (int64_t k = 0; k < box->extents[0]; ++k)
    for (int64_t j = 0; j < box->extents[1]; ++j)
      for (int64_t i = 0; i < box->extents[2]; ++i)
        *u++ = line[box->start[0] + k] * line[box->start[1] + j] * line[box->start[2] + i];
  free(line);
}

/* Root mean square of a - b over the points of all ranks. */
static double difference(const double* a, const double* b, int64_t num_items, double num_points) {
  double sum = 0;
  for (int64_t i = 0; i < num_items; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sqrt(sum / num_points);
}

/* One time step: every mode decays. */
static void decay(const tailrace_transform* transform, double complex* u_hat) {
  const int* k[3]; /* wave numbers along z, y, x */
  int64_t n[3];
  for (int axis = 0; axis < 3; ++axis)
    check(tailrace_transform_modes(transform, axis, &k[axis], &n[axis]));
  for (int64_t j = 0; j < n[1]; ++j)
    for (int64_t l = 0; l < n[0]; ++l)
      for (int64_t i = 0; i < n[2]; ++i) {
        const double kx = k[2][i], ky = k[1][j], kz = k[0][l];
        *u_hat++ *= exp(-(kx * kx + ky * ky + kz * kz) * time_step);
      }
}

static int run(int64_t n, const char* folder) {
  tailrace_comm* comm = NULL;
  check(tailrace_comm_create(MPI_COMM_WORLD, &comm));
  tailrace_transform* transform = NULL;
  const int64_t extents[3] = {n, n, n};
  check(tailrace_transform_create(comm, extents, NULL, &transform));
  tailrace_layout* layout = NULL; /* which boxes of the grid each rank holds */
  check(tailrace_transform_physical_layout(transform, &layout));
  tailrace_box box;
  check(tailrace_transform_physical_box(transform, &box));
  int64_t num_items = 0, num_modes = 0;
  check(tailrace_transform_sizes(transform, &num_items, &num_modes));
  double* u = allocate(num_items, sizeof *u);
  exact_field(&box, n, start_time, u);
  double complex* u_hat = allocate(num_modes, sizeof *u_hat);
  const void *fields_in[1] = {u}, *modes_in[1] = {u_hat}; /* transforms take several fields */
  void *fields_out[1] = {u}, *modes_out[1] = {u_hat};

  tailrace_contents* contents = NULL;
  check(tailrace_contents_create(&contents)); /* dimensions z, y, x */
  check(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, NULL, u, num_items));
  tailrace_output* output = NULL;
  check(tailrace_output_create(comm, NULL, &output)); /* hidden */

  const double num_points = (double)(n * n * n);
  check(tailrace_transform_forward(transform, 1, fields_in, num_items, modes_out, num_modes));
  for (int64_t m = 0; m < num_modes; ++m) u_hat[m] /= num_points; /* not normalised */
  for (int step = 1; step <= num_steps; ++step) {
    decay(transform, u_hat);
    if (step % output_every == 0) {
      check(tailrace_transform_backward(transform, 1, modes_in, num_modes, fields_out, num_items));
      check(tailrace_contents_step(contents, step));
      check(tailrace_contents_attribute_double(contents, NULL, "time", step * time_step));
      char path[4096];
      snprintf(path, sizeof path, "%s/heat_%d.h5", folder, step);
      check(tailrace_output_write(output, path, contents)); /* copies u and returns */
    }
    check(tailrace_output_progress(output)); /* never waits */
  }

  double* exact = allocate(num_items, sizeof *exact);
  exact_field(&box, n, start_time + num_steps * time_step, exact);
  const double error = difference(u, exact, num_items, num_points);
  check(tailrace_output_finish(output)); /* waits for the last file */
  tailrace_output_statistics cost;
  check(tailrace_output_get_statistics(output, &cost));
  int rank = 0;
  check(tailrace_comm_rank(comm, &rank));
  if (rank == 0) {
    printf("%d files: the computation spent %.4f s on them, the background %.4f s\n",
           (int)cost.complete, cost.call_s, cost.write_s);
    printf("difference from the exact solution: %.1e\n", error);
  }
  check(tailrace_output_destroy(&output));
  check(tailrace_contents_destroy(&contents));
  check(tailrace_layout_destroy(&layout));
  check(tailrace_transform_destroy(&transform));
  check(tailrace_comm_destroy(&comm));
  free(u);
  free(u_hat);
  free(exact);
  return error < 1e-10 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const int status = run(argc > 1 ? atol(argv[1]) : 128, argc > 2 ? argv[2] : ".");
  MPI_Finalize();
  return status;
}
