/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function of tailrace.h with every argument wrong in turn: refused on all ranks alike with a
   text, and the objects go on working. make_sweep.py writes the calls from the headers.
   Usage: mpirun -n 3 test_c_sweep FOLDER */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

int num_failures = 0;
int this_rank = 0;
int all_ranks = 1;

/* What must come of a call; what is allowed may be refused, on all ranks alike. */
enum expectation { SUCCEEDS, REFUSED_ALIKE, ALLOWED, CLOSED };
#undef REFUSED
#define REFUSED REFUSED_ALIKE

static int is_last = 0;
static int num_refused = 0, num_allowed = 0;
static const char* under_way = "";

/* Objects of each kind that are in order. */
static tailrace_comm *good_comm = NULL, *good_cart = NULL;
static tailrace_array_transform* good_array_transform = NULL;
static tailrace_node_array* good_node_array = NULL;
static tailrace_exchange* good_exchange = NULL;
static tailrace_transform* good_transform = NULL;
static tailrace_file_part* good_file_part = NULL;
static tailrace_file_pool* good_file_pool = NULL;
static tailrace_file* good_file = NULL;
static tailrace_hints* good_hints = NULL;
static tailrace_input* good_input = NULL;
static tailrace_layout* good_layout = NULL;
static tailrace_memory* good_memory = NULL;
static tailrace_log* good_log = NULL;
static tailrace_contents *good_contents = NULL, *scratch_contents = NULL;
static tailrace_output *good_output = NULL, *good_opened = NULL;
static tailrace_reduction* good_reduction = NULL;
static tailrace_session* good_session = NULL;
static tailrace_trace* good_trace = NULL;
static void* destroyed = NULL;

/* Where results go; what is made by a call is ended after it. */
static tailrace_comm* made_comm = NULL;
static tailrace_array_transform* made_array_transform = NULL;
static tailrace_node_array* made_node_array = NULL;
static tailrace_exchange* made_exchange = NULL;
static tailrace_transform* made_transform = NULL;
static tailrace_file_part* made_file_part = NULL;
static tailrace_file_pool* made_file_pool = NULL;
static tailrace_file* made_file = NULL;
static tailrace_hints* made_hints = NULL;
static tailrace_input* made_input = NULL;
static tailrace_layout* made_layout = NULL;
static tailrace_memory* made_memory = NULL;
static tailrace_log* made_log = NULL;
static tailrace_contents* made_contents = NULL;
static tailrace_output* made_output = NULL;
static tailrace_reduction* made_reduction = NULL;
static tailrace_session* made_session = NULL;
static tailrace_trace* made_trace = NULL;
static union {
  int ints[64];
  int64_t longs[32];
  double reals[64];
  tailrace_output_statistics statistics;
} out;

static tailrace_array_transform_options good_array_transform_options;
static tailrace_exchange_options good_exchange_options;
static tailrace_transform_options good_transform_options;
static tailrace_input_options good_input_options;
static tailrace_log_options good_log_options;
static tailrace_output_options good_output_options, good_session_options, good_opened_options;
static tailrace_reduction_options good_reduction_options;
static tailrace_function good_function;
static tailrace_product good_product;
static tailrace_tune_problem good_problem = {"sweep", "8", "first", 0};
static tailrace_candidate good_candidates[2];
static tailrace_tune_settings good_settings;

/* Arguments of the right shape. */
static const int64_t extents[2] = {7, 6}, cube[3] = {8, 6, 4}, halo[2] = {0, 0};
static const int64_t offsets[2] = {0, 64}, strides[2] = {8, 1}, run_bytes[1] = {8};
static const int64_t negative[8] = {-1, 1, 1, 1, 1, 1, 1, 1};
static const int negative_ints[8] = {-1, 1, 1, 1, 1, 1, 1, 1};
static const double spacing[3] = {1, 1, 1};
static const int order[2] = {0, 1}, writers[1] = {0};
static const char* const names[3] = {"z", "y", "x"};
static const char* const variables[1] = {"u"};
static const char* const stages[1] = {"call name=nothing"};
static int rows_only[2] = {1, 1};
static tailrace_box good_box = {2, {0, 0}, {2, 3}};
static int64_t boxes_of_ranks[8] = {1}, num_items = 0, num_points = 0, num_modes = 0;
static int64_t num_array_items = 0, num_array_modes = 0;
static int64_t num_bytes = 0, counts[1];
static double source[64], destination[64], everything[64], a_cube[192], a_spectrum[512];
static const void* const sources[1] = {source};
static void* const destinations[1] = {destination};
static const void* const points[1] = {a_cube};
static void* const spectra[1] = {a_spectrum};
static const void* const spectra_in[1] = {a_spectrum};
static void* const out_points[1] = {a_cube};
static char path[1024], input_path[1024], bytes_path[1024], trace_path[1024], xdmf_path[1024];

static void quiet(int level, const char* text, void* user) { (void)level, (void)text, (void)user; }
static int nothing(int64_t step, int num_parts, tailrace_part* parts, void* user) {
  (void)step, (void)num_parts, (void)parts, (void)user;
  return 0;
}
static int no_work(void* user) {
  (void)user;
  return 0;
}
/* Outputs of a session have different names, which are the same on all ranks. */
static int case_number = 0;
static const char* output_name(void) {
  static char name[32];
  snprintf(name, sizeof name, "output%d", case_number);
  return name;
}

static void end_made(void) {
  tailrace_output_destroy(&made_output);
  tailrace_session_destroy(&made_session);
  tailrace_file_destroy(&made_file);
  tailrace_file_pool_destroy(&made_file_pool);
  tailrace_file_part_destroy(&made_file_part);
  tailrace_input_destroy(&made_input);
  tailrace_contents_destroy(&made_contents);
  tailrace_log_destroy(&made_log);
  tailrace_exchange_destroy(&made_exchange);
  tailrace_node_array_destroy(&made_node_array);
  tailrace_transform_destroy(&made_transform);
  tailrace_array_transform_destroy(&made_array_transform);
  tailrace_reduction_destroy(&made_reduction);
  tailrace_memory_destroy(&made_memory);
  tailrace_layout_destroy(&made_layout);
  tailrace_hints_destroy(&made_hints);
  tailrace_trace_destroy(&made_trace);
  tailrace_comm_destroy(&made_comm);
}

/* A call that hangs ends the job and says which. */
static void begin(const char* label) {
  under_way = label;
  ++case_number;
  if (getenv("SWEEP_SAYS")) fprintf(stderr, "[%d] %s\n", this_rank, label);
  alarm(60);
}
static void hangs(int number) {
  (void)number;
  fprintf(stderr, "[rank %d] hangs: %s\n", this_rank, under_way);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void end(const char* label, enum expectation expected, int status) {
  int range[2] = {status, -status};
  MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  alarm(0);
  const char* wrong = NULL;
  if (range[0] != -range[1]) wrong = "the ranks differ";
  if (status == TAILRACE_OK && expected == REFUSED) wrong = "is not refused";
  if (status != TAILRACE_OK && expected == SUCCEEDS) wrong = "is refused";
  if (status != TAILRACE_OK) {
    const size_t length = strcspn(label, ".: ");
    if (status == TAILRACE_INTERNAL || status == TAILRACE_MPI) wrong = "fails in another way";
    if (strncmp(tailrace_error(), label, length) != 0 || strlen(tailrace_error()) < length + 4)
      wrong = "has a text of another call, or none";
    ++num_refused;
  } else {
    ++num_allowed;
  }
  if (wrong != NULL) fail(wrong, label, status);
  /* What is under way ends. */
  if (status == TAILRACE_OK && strstr(label, "exchange_start") == label + 9)
    OK(tailrace_exchange_finish(good_exchange));
  if (status == TAILRACE_OK && strstr(label, "reduction_start") == label + 9)
    OK(tailrace_reduction_finish(good_reduction));
  end_made();
}
#define CASE(label, expected, call) \
  do {                              \
    begin(label);                   \
    end(label, expected, (call));   \
  } while (0)

#include "sweep_calls.inc"

/* What asks for all the memory there is must fail as where there is little of it. */
static void limit_memory(void) {
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is larger; it limits each piece by its options */
  const struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

/* A file with all that the calls of `tailrace_input` ask for. */
static void write_input(void) {
  tailrace_output* output = NULL;
  OK(tailrace_output_create(good_comm, &good_output_options, &output));
  OK(tailrace_output_write(output, input_path, good_contents));
  OK(tailrace_output_finish(output));
  OK(tailrace_output_destroy(&output));
}

static void set_options(void) {
  good_exchange_options = tailrace_exchange_defaults();
  good_exchange_options.method = "alltoallv";
  good_array_transform_options = tailrace_array_transform_defaults();
  good_array_transform_options.num_axes = 2;
  good_array_transform_options.method = "alltoallv";
  good_transform_options = tailrace_transform_defaults();
  good_transform_options.method = good_transform_options.row_method = "alltoallv";
  good_input_options = tailrace_input_defaults();
  good_log_options = tailrace_log_defaults();
  good_reduction_options = tailrace_reduction_defaults();
  good_reduction_options.max_items = 64;
  good_reduction_options.method = "mpi";
  good_function = (tailrace_function){"nothing", nothing, NULL, NULL};
  good_session_options = tailrace_output_defaults();
  good_session_options.num_functions = 1;
  good_session_options.functions = &good_function;
  good_session_options.num_server_words = 1;
  good_session_options.server_program = names;
  good_product = tailrace_product_defaults();
  good_product.name = "same";
  good_product.num_stages = 1;
  good_product.stages = stages;
  good_product.num_variables = 1;
  good_product.variables = variables;
  good_opened_options = tailrace_output_defaults();
  good_opened_options.num_products = 1;
  good_opened_options.products = &good_product;
  good_output_options = good_session_options;
  good_output_options.num_products = 1;
  good_output_options.products = &good_product;
  good_session_options.servers = "none";
  good_candidates[0] = (tailrace_candidate){"first", no_work, NULL, NULL};
  good_candidates[1] = (tailrace_candidate){"second", no_work, NULL, NULL};
  good_settings = tailrace_tune_defaults();
  good_settings.mode = TAILRACE_TUNE_FIRST_USE;
}

static void make_objects(void) {
  OK(tailrace_comm_create(MPI_COMM_WORLD, &good_comm));
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){all_ranks, 1}, (int[]){0, 0}, 0, &cart);
  OK(tailrace_comm_create(cart, &good_cart));
  MPI_Comm_free(&cart);
  OK(tailrace_trace_create(16, &good_trace));
  OK(tailrace_hints_create(&good_hints));
  OK(tailrace_layout_slabs(2, extents, 0, all_ranks, &good_layout));
  OK(tailrace_layout_num_items(good_layout, this_rank, &num_items));
  num_bytes = 8 * num_items;
  counts[0] = num_items;
  OK(tailrace_memory_dense(good_layout, this_rank, &good_memory));
  OK(tailrace_node_array_create(good_comm, 512, &good_node_array));
  OK(tailrace_exchange_create(good_comm, good_layout, NULL, good_layout, NULL,
                              &good_exchange_options, &good_exchange));
  OK(tailrace_transform_create(good_comm, cube, &good_transform_options, &good_transform));
  OK(tailrace_transform_sizes(good_transform, &num_points, &num_modes));
  OK(tailrace_array_transform_create(good_comm, 2, extents, &good_array_transform_options,
                                     &good_array_transform));
  OK(tailrace_array_transform_sizes(good_array_transform, &num_array_items, &num_array_modes));
  OK(tailrace_reduction_create(good_comm, &good_reduction_options, &good_reduction));
  OK(tailrace_log_create(good_comm, &good_log_options, &good_log));
  OK(tailrace_contents_create(&scratch_contents));
  OK(tailrace_contents_variable(scratch_contents, "u", TAILRACE_FLOAT64, good_layout, NULL, source,
                                num_items));
  OK(tailrace_contents_create(&good_contents));
  OK(tailrace_contents_variable(good_contents, "u", TAILRACE_FLOAT64, good_layout, NULL, source,
                                num_items));
  OK(tailrace_contents_coordinate(good_contents, "x", source, 6));
  OK(tailrace_contents_attribute_int(good_contents, NULL, "number", 3));
  OK(tailrace_contents_attribute_double(good_contents, NULL, "real", 0.5));
  OK(tailrace_contents_attribute_doubles(good_contents, NULL, "reals", source, 3));
  OK(tailrace_contents_attribute_text(good_contents, NULL, "text", "something"));
  OK(tailrace_output_create(good_comm, &good_output_options, &good_output));
  write_input();
  OK(tailrace_input_open(good_comm, input_path, NULL, &good_input));
  const int64_t offset = 512 * this_rank;
  OK(tailrace_file_part_runs(1, &offset, &num_bytes, &good_file_part));
  OK(tailrace_file_pool_create(good_comm, &good_file_pool));
  OK(tailrace_file_open(good_file_pool, bytes_path, TAILRACE_FILE_WRITE, NULL, NULL, &good_file));
  OK(tailrace_session_create(MPI_COMM_WORLD, &good_session_options, &good_session));
  OK(tailrace_session_open_output(good_session, "good", &good_opened_options, &good_opened));
  tailrace_hints* gone = NULL;
  OK(tailrace_hints_create(&gone));
  destroyed = gone;
  OK(tailrace_hints_destroy(&gone));
}

static void end_objects(void) {
  OK(tailrace_output_destroy(&good_opened));
  OK(tailrace_session_destroy(&good_session));
  OK(tailrace_file_destroy(&good_file));
  OK(tailrace_file_pool_destroy(&good_file_pool));
  OK(tailrace_file_part_destroy(&good_file_part));
  OK(tailrace_input_destroy(&good_input));
  OK(tailrace_output_finish(good_output));
  OK(tailrace_output_destroy(&good_output));
  OK(tailrace_contents_destroy(&scratch_contents));
  OK(tailrace_contents_destroy(&good_contents));
  OK(tailrace_set_line_handler(NULL, NULL));
  OK(tailrace_log_destroy(&good_log));
  OK(tailrace_reduction_destroy(&good_reduction));
  OK(tailrace_transform_destroy(&good_transform));
  OK(tailrace_array_transform_destroy(&good_array_transform));
  OK(tailrace_exchange_destroy(&good_exchange));
  OK(tailrace_node_array_destroy(&good_node_array));
  OK(tailrace_memory_destroy(&good_memory));
  OK(tailrace_layout_destroy(&good_layout));
  OK(tailrace_hints_destroy(&good_hints));
  OK(tailrace_trace_destroy(&good_trace));
  OK(tailrace_comm_destroy(&good_cart));
  OK(tailrace_comm_destroy(&good_comm));
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &this_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
  if (argc != 2) {
    fprintf(stderr, "usage: test_c_sweep FOLDER\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  is_last = this_rank == all_ranks - 1;
  rows_only[0] = all_ranks;
  if (this_rank == 0) mkdir(argv[1], 0777);
  MPI_Barrier(MPI_COMM_WORLD);
  const char* const folder = argv[1];
  snprintf(path, sizeof path, "%s/written.h5", folder);
  snprintf(input_path, sizeof input_path, "%s/read.h5", folder);
  snprintf(bytes_path, sizeof bytes_path, "%s/bytes", folder);
  snprintf(trace_path, sizeof trace_path, "%s/trace.json", folder);
  snprintf(xdmf_path, sizeof xdmf_path, "%s/u.xdmf", folder);
  if (chdir(folder) != 0) MPI_Abort(MPI_COMM_WORLD, 2); /* texts that are taken for paths */
  signal(SIGALRM, hangs);
  set_options();
  make_objects();
  limit_memory();
  sweep_all();
  sweep_closed();
  end_objects();
  if (this_rank == 0) printf("%d refused, %d allowed\n", num_refused, num_allowed);
  MPI_Allreduce(MPI_IN_PLACE, &num_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return num_failures == 0 && num_refused > 800 ? EXIT_SUCCESS : EXIT_FAILURE;
}
