/* SPDX-License-Identifier: BSD-3-Clause */
/* `KIND STEM`: as unfinished_program.cpp, from C: MPI_Finalize completes the files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tailrace.h"

enum { num_steps = 20, num_variables = 200, rows = 64, columns = 64 };

static void check(int status) {
  if (status == TAILRACE_OK) return;
  fprintf(stderr, "%s\n", tailrace_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static char* path_of(const char* stem, int step) {
  static char path[4096];
  snprintf(path, sizeof path, "%s_%d.h5", stem, step);
  return path;
}

static tailrace_contents* contents_for(const tailrace_comm* comm, double* u) {
  int rank = 0, num_ranks = 1;
  check(tailrace_comm_rank(comm, &rank));
  check(tailrace_comm_num_ranks(comm, &num_ranks));
  tailrace_layout* layout = NULL;
  check(tailrace_layout_slabs(2, (int64_t[]){rows, columns}, 0, num_ranks, &layout));
  int64_t num_items = 0;
  check(tailrace_layout_num_items(layout, rank, &num_items));
  tailrace_contents* contents = NULL;
  check(tailrace_contents_create(&contents));
  for (int v = 0; v < num_variables; ++v) {
    char name[20];
    snprintf(name, sizeof name, "u%d", v);
    check(tailrace_contents_variable(contents, name, TAILRACE_FLOAT64, layout, NULL, u, num_items));
  }
  return contents;
}

static void write_by_output(const char* stem, double* u) {
  tailrace_comm* comm = NULL;
  check(tailrace_comm_create(MPI_COMM_WORLD, &comm));
  tailrace_output_options options = tailrace_output_defaults();
  options.servers = "hidden";
  tailrace_output* output = NULL;
  check(tailrace_output_create(comm, &options, &output));
  tailrace_contents* contents = contents_for(comm, u);
  for (int step = 0; step < num_steps; ++step) {
    check(tailrace_output_write(output, path_of(stem, step), contents));
  }
}

static void write_by_session(const char* kind, const char* stem, double* u) {
  tailrace_output_options options = tailrace_output_defaults();
  options.servers = kind;
  tailrace_session* session = NULL;
  check(tailrace_session_create(MPI_COMM_WORLD, &options, &session));
  int computes = 0, lost = 0;
  check(tailrace_session_computes(session, &computes));
  if (!computes) {
    check(tailrace_session_serve(session, &lost));
    return;
  }
  tailrace_comm* comm = NULL;
  check(tailrace_session_comm(session, &comm));
  tailrace_output* output = NULL;
  check(tailrace_session_open_output(session, "field", NULL, &output));
  tailrace_contents* contents = contents_for(comm, u);
  for (int step = 0; step < num_steps; ++step) {
    check(tailrace_output_write(output, path_of(stem, step), contents));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; rank == 0 && step < num_steps; ++step) remove(path_of(argv[2], step));
  MPI_Barrier(MPI_COMM_WORLD);
  double* u = calloc(rows * columns, sizeof *u);
  if (strcmp(argv[1], "output") == 0) {
    write_by_output(argv[2], u);
  } else {
    write_by_session(argv[1], argv[2], u);
  }
  MPI_Finalize();
  free(u);
  int whole = 0;
  for (int step = 0; rank == 0 && step < num_steps; ++step) {
    whole += remove(path_of(argv[2], step)) == 0;
  }
  if (rank == 0) printf("%s: %d of %d files\n", argv[1], whole, num_steps);
  return rank == 0 && whole != num_steps;
}
