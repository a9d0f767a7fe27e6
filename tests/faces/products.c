/* SPDX-License-Identifier: BSD-3-Clause */
/* Four steps of three fields, and the products of them that its words name, through the C binding.
   check_products.py runs it and checks what it wrote. Usage:
   products_c FOLDER SERVERS MEMBER [NAME PATH EVERY VARIABLE,... STAGE|...]... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tailrace.h"

enum { max_products = 40, max_words = 8, nz = 5, ny = 6, nx = 8 };

static void must(int status) {
  if (status == TAILRACE_OK) return;
  fprintf(stderr, "products_c: %s\n", tailrace_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The stage "call name=twice" and the tasks "tasks name=square". */
static int twice(int64_t step, int num_parts, tailrace_part* parts, void* user) {
  (void)step, (void)user;
  for (int p = 0; p < num_parts; ++p) {
    double* items = parts[p].data;
    for (int64_t i = 0; i < parts[p].num_items; ++i) items[i] *= 2;
  }
  return 0;
}
static int square(int64_t step, int64_t task, double* value, void* user) {
  (void)user;
  *value = (double)(task * task + step);
  return 0;
}
static const tailrace_function functions[2] = {{"twice", twice, NULL, NULL},
                                               {"square", NULL, square, NULL}};

/* Cuts `text` into the words between `mark`s; the words are kept until the program ends. */
static int split(const char* text, const char* mark, const char** words) {
  char* copy = malloc(strlen(text) + 1);
  strcpy(copy, text);
  int count = 0;
  for (char* word = strtok(copy, mark); word != NULL; word = strtok(NULL, mark)) {
    if (count < max_words) words[count++] = word;
  }
  return count;
}

static int read_products(int num_words, char** words, tailrace_product* products) {
  static const char* parts[max_products][2][max_words];
  int count = 0;
  for (int w = 0; w + 4 < num_words && count < max_products; w += 5, ++count) {
    products[count] = tailrace_product_defaults();
    products[count].name = words[w];
    products[count].path = words[w + 1];
    products[count].every = atoi(words[w + 2]);
    products[count].num_variables = split(words[w + 3], ",", parts[count][0]);
    products[count].variables = parts[count][0];
    products[count].num_stages = split(words[w + 4], "|", parts[count][1]);
    products[count].stages = parts[count][1];
  }
  return count;
}

static void add_coordinate(tailrace_contents* contents, const char* name, int count) {
  double values[nx];
  for (int i = 0; i < count; ++i) values[i] = 0.5 * i;
  must(tailrace_contents_coordinate(contents, name, values, count));
}

static void compute(tailrace_session* session, const char* folder, int member, int num_products,
                    const tailrace_product* products) {
  tailrace_comm* comm = NULL;
  tailrace_layout* layout = NULL;
  tailrace_contents* contents = NULL;
  tailrace_output* output = NULL;
  int rank = 0, num_ranks = 0;
  int64_t num_boxes = 0, num_items = 0, start = 0;
  tailrace_box box;
  must(tailrace_session_comm(session, &comm));
  must(tailrace_comm_rank(comm, &rank));
  must(tailrace_comm_num_ranks(comm, &num_ranks));
  must(tailrace_layout_slabs(3, (int64_t[]){nz, ny, nx}, 0, num_ranks, &layout));
  must(tailrace_layout_num_boxes(layout, rank, &num_boxes));
  if (num_boxes > 0) {
    must(tailrace_layout_box(layout, rank, 0, &box));
    start = box.start[0] * ny * nx;
  }
  must(tailrace_layout_num_items(layout, rank, &num_items));
  double* u = malloc(sizeof(double) * (size_t)(num_items + 1));
  double* w = malloc(sizeof(double) * (size_t)(num_items + 1));
  int32_t* m = malloc(sizeof(int32_t) * (size_t)(num_items + 1));
  must(tailrace_contents_create(&contents));
  must(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, NULL, u, num_items));
  must(tailrace_contents_variable(contents, "w", TAILRACE_FLOAT64, layout, NULL, w, num_items));
  must(tailrace_contents_variable(contents, "m", TAILRACE_INT32, layout, NULL, m, num_items));
  add_coordinate(contents, "z", nz);
  add_coordinate(contents, "y", ny);
  add_coordinate(contents, "x", nx);
  tailrace_output_options options = tailrace_output_defaults();
  options.num_products = num_products;
  options.products = products;
  must(tailrace_session_open_output(session, "fields", &options, &output));
  for (int step = 1; step <= 4; ++step) {
    for (int64_t i = 0; i < num_items; ++i) {
      const int64_t n = start + i;
      u[i] = (double)((7 * n + 13 * step + member) % 31 - 15) / 4;
      w[i] = (double)(1 + n % 5);
      m[i] = (int32_t)(n + step);
    }
    char path[1024];
    snprintf(path, sizeof path, "%s/step_%d%s", folder, step,
             step == 2   ? ".nc"
             : step == 3 ? ".zarr"
                         : ".h5");
    must(tailrace_contents_step(contents, step));
    must(tailrace_contents_attribute_double(contents, NULL, "time", 0.5 * step));
    must(tailrace_output_write(output, path, contents));
  }
  must(tailrace_output_finish(output));
  must(tailrace_output_destroy(&output));
  must(tailrace_contents_destroy(&contents));
  must(tailrace_layout_destroy(&layout));
  must(tailrace_comm_destroy(&comm));
  free(u);
  free(w);
  free(m);
}

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[1], "serve") == 0) {
    int exit_status = 1;
    tailrace_serve_as_process(argc - 2, (const char* const*)argv + 2, 2, functions, &exit_status);
    return exit_status;
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  if (argc < 4) {
    fprintf(stderr, "usage: products_c FOLDER SERVERS MEMBER [products]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const char* const server_program[2] = {argv[0], "serve"};
  static tailrace_product products[max_products];
  const int num_products = read_products(argc - 4, argv + 4, products);
  tailrace_output_options options = tailrace_output_defaults();
  options.servers = argv[2];
  options.memory_bytes = 16 << 20;
  options.num_functions = 2;
  options.functions = functions;
  options.num_server_words = 2;
  options.server_program = server_program;
  tailrace_session* session = NULL;
  int computes = 0, lost = 0;
  must(tailrace_session_create(MPI_COMM_WORLD, &options, &session));
  must(tailrace_session_computes(session, &computes));
  if (computes) {
    compute(session, argv[1], atoi(argv[3]), num_products, products);
    must(tailrace_session_close(session));
  } else {
    must(tailrace_session_serve(session, &lost));
  }
  must(tailrace_session_destroy(&session));
  MPI_Finalize();
  return lost;
}
