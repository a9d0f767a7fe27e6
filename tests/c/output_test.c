/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

static const int64_t extents[2] = {7, 6};

/* This rank's rows, with a halo of one item around them if `halo` is 1. */
static double* rows(const tailrace_box* box, int halo) {
  const int64_t width = box->extents[1] + 2 * halo;
  double* u = calloc((size_t)((box->extents[0] + 2 * halo) * width + 1), sizeof(double));
  for (int64_t y = 0; y < box->extents[0]; ++y)
    for (int64_t x = 0; x < box->extents[1]; ++x)
      u[(y + halo) * width + x + halo] = (double)((box->start[0] + y) * 10 + x);
  return u;
}

/* The box of this rank, or an empty one. */
static tailrace_box own_box(const tailrace_layout* layout) {
  tailrace_box box = {2, {0, 0}, {0, 0}};
  int64_t num_boxes = 0;
  OK(tailrace_layout_num_boxes(layout, this_rank, &num_boxes));
  if (num_boxes > 0) OK(tailrace_layout_box(layout, this_rank, 0, &box));
  return box;
}

static void read_again(const tailrace_comm* comm, const char* path) {
  tailrace_input* input = NULL;
  OK(tailrace_input_open(comm, path, NULL, &input));
  int64_t num_names = 0;
  OK(tailrace_input_num_names(input, &num_names));
  CHECK(num_names == 3); /* time, a number without a dimension, is the first */
  const char* text = NULL;
  OK(tailrace_input_name(input, 1, &text));
  CHECK(strcmp(text, "u") == 0);
  int num_dims = 0, type = -1, has = 1;
  int64_t found[TAILRACE_MAX_DIMS] = {0}, count = 0, whole = 0;
  OK(tailrace_input_extents(input, "u", &num_dims, found));
  CHECK(num_dims == 2 && found[0] == 7 && found[1] == 6);
  OK(tailrace_input_type(input, "u", &type));
  CHECK(type == TAILRACE_FLOAT64);
  double number = 0, values[7] = {0};
  OK(tailrace_input_attribute_double(input, "time", &number));
  CHECK(number == 0.5);
  OK(tailrace_input_attribute_int(input, "run", &whole));
  CHECK(whole == 42);
  OK(tailrace_input_attribute_text(input, "title", &text));
  CHECK(strcmp(text, "rows") == 0);
  OK(tailrace_input_attribute_doubles(input, "range", 1, values, &count));
  CHECK(count == 2 && values[0] == -1 && values[1] == 0);
  OK(tailrace_input_coordinate(input, "y", 7, values, &count));
  CHECK(count == 7 && values[6] == 6);
  float singles[2];
  OK(tailrace_input_attribute_numbers(input, "range", TAILRACE_FLOAT32, 2, singles, &count));
  CHECK(count == 2 && singles[0] == -1 && singles[1] == 65);
  REFUSED(tailrace_input_attribute_numbers(input, "range", TAILRACE_INT32, 2, singles, &count),
          TAILRACE_INVALID_INPUT, "float64, which is not read as int32");
  OK(tailrace_input_attribute_text_of_list(input, "title", 0, &text, &count));
  CHECK(count == 1 && strcmp(text, "rows") == 0);
  REFUSED(tailrace_input_attribute_text_of_list(input, "title", 1, &text, &count),
          TAILRACE_INVALID_INPUT, "no text of this index");
  OK(tailrace_input_has_attribute(input, "nothing", &has));
  CHECK(has == 0);

  /* Columns instead of rows, in single precision. */
  tailrace_layout* columns = NULL;
  OK(tailrace_layout_slabs(2, extents, 1, all_ranks, &columns));
  const tailrace_box box = own_box(columns);
  int64_t num_items = 0;
  OK(tailrace_layout_num_items(columns, this_rank, &num_items));
  float* v = calloc((size_t)(num_items + 1), sizeof(float));
  OK(tailrace_input_read(input, "u", TAILRACE_FLOAT32, columns, NULL, v, num_items));
  for (int64_t i = 0; i < num_items; ++i)
    CHECK(v[i] == (float)(i / box.extents[1] * 10 + box.start[1] + i % box.extents[1]));
  double all[42];
  OK(tailrace_input_read_all(input, "wide", TAILRACE_FLOAT64, all, 42));
  CHECK(all[0] == 0 && all[41] == 65);
  tailrace_input_statistics seen;
  OK(tailrace_input_get_total_statistics(input, &seen));
  CHECK(seen.bytes_read > 0 && seen.checked > 0);
  OK(tailrace_input_get_statistics(input, &seen));

  REFUSED(tailrace_input_read(input, "w", TAILRACE_FLOAT64, columns, NULL, v, num_items),
          TAILRACE_INVALID_INPUT, "it has time, u, wide");
  CHECK(strcmp(tailrace_error_path(), path) == 0);
  REFUSED(tailrace_input_read(input, "u", TAILRACE_FLOAT32, columns, NULL, v,
                              this_rank == 0 ? num_items + 1 : num_items),
          TAILRACE_INVALID_INPUT, "array of");
  REFUSED(tailrace_input_read_all(input, "u", TAILRACE_FLOAT64, all, 41), TAILRACE_INVALID_INPUT,
          "has 42 items");
  REFUSED(tailrace_input_attribute_int(input, "title", &whole), TAILRACE_INVALID_INPUT, "title");
  OK(tailrace_layout_destroy(&columns));
  OK(tailrace_input_destroy(&input));
  free(v);
}

void test_output(const tailrace_comm* comm, const char* folder) {
  tailrace_layout* layout = NULL;
  OK(tailrace_layout_slabs(2, extents, 0, all_ranks, &layout));
  const tailrace_box box = own_box(layout);
  int64_t num_items = 0, num_halo = 0;
  OK(tailrace_layout_num_items(layout, this_rank, &num_items));
  double *u = rows(&box, 0), *wide = rows(&box, 1);
  tailrace_memory* halo = NULL;
  OK(tailrace_memory_ordered(&box, NULL, (int64_t[]){1, 1}, &halo));
  OK(tailrace_memory_num_items(halo, &num_halo));

  tailrace_contents* contents = NULL;
  OK(tailrace_contents_create(&contents));
  OK(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, NULL, u, num_items));
  OK(tailrace_contents_variable(contents, "wide", TAILRACE_FLOAT64, layout, halo, wide, num_halo));
  OK(tailrace_contents_dims(contents, "wide", 2, (const char*[]){"y", "x"}));
  OK(tailrace_contents_compress(contents, "wide", "deflate:1 chunk=2x3"));
  OK(tailrace_contents_coordinate(contents, "y", (double[]){0, 1, 2, 3, 4, 5, 6}, 7));
  OK(tailrace_contents_attribute_double(contents, NULL, "time", 0.25));
  OK(tailrace_contents_attribute_double(contents, NULL, "time", 0.5));
  OK(tailrace_contents_attribute_int(contents, NULL, "run", 42));
  OK(tailrace_contents_attribute_text(contents, NULL, "title", "rows"));
  OK(tailrace_contents_attribute_text(contents, "u", "units", "m"));
  OK(tailrace_contents_attribute_doubles(contents, NULL, "range", (double[]){-1, 65}, 2));
  OK(tailrace_contents_attribute_number(contents, "u", "scale", TAILRACE_FLOAT32, &(float){0.5F}));
  OK(tailrace_contents_attribute_numbers(contents, "u", "flags", TAILRACE_INT8, (int8_t[]){1, 2},
                                         2));
  OK(tailrace_contents_attribute_numbers(contents, "u", "none", TAILRACE_UINT64, NULL, 0));
  OK(tailrace_contents_attribute_texts(contents, "u", "members", 2,
                                       (const char*[]){"sea", "land"}));
  OK(tailrace_contents_attribute_bool(contents, "u", "masked", 1));
  OK(tailrace_contents_number(contents, "time", TAILRACE_INT64, &(int64_t){(1LL << 53) + 1}));
  REFUSED(tailrace_contents_attribute_number(contents, "u", "a", 99, &(float){1}),
          TAILRACE_INVALID_INPUT, "type");
  REFUSED(tailrace_contents_attribute_number(contents, "u", "a", TAILRACE_INT8, NULL),
          TAILRACE_INVALID_INPUT, "value");
  REFUSED(tailrace_contents_attribute_int(contents, "v", "run", 1), TAILRACE_INVALID_INPUT,
          "\"v\"");
  REFUSED(tailrace_contents_variable(contents, "u", 77, layout, NULL, u, num_items),
          TAILRACE_INVALID_INPUT, "type: 77");
  REFUSED(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, halo, u, num_items),
          TAILRACE_INVALID_INPUT, "its memory has");

  const char* const kinds[3] = {"none", "hidden", "thread"};
  for (int k = 0; k < 3; ++k) {
    char path[1024];
    /* The bytes of a name need not be UTF-8. */
    snprintf(path, sizeof path,
             k == 1 ? "%s/c_f\xe4"
                      "ce_%d.h5"
                    : "%s/c_face_%d.h5",
             folder, k);
    tailrace_output_options options = tailrace_output_defaults();
    options.servers = kinds[k];
    tailrace_hints* hints = NULL;
    OK(tailrace_hints_create(&hints));
    OK(tailrace_hints_set(hints, "cb_nodes", "1"));
    REFUSED(tailrace_hints_set(hints, "cb_nodes", "many"), TAILRACE_INVALID_INPUT, "cb_nodes");
    options.hints = hints;
    tailrace_output* output = NULL;
    OK(tailrace_output_create(comm, &options, &output));
    OK(tailrace_hints_destroy(&hints));
    OK(tailrace_contents_step(contents, k));
    int result = 9;
    OK(tailrace_output_last_result(output, &result));
    CHECK(result == -1);
    OK(tailrace_output_write(output, path, contents));
    OK(tailrace_output_last_result(output, &result));
    CHECK(result == (k == 0 ? TAILRACE_WRITTEN : TAILRACE_STAGED));
    OK(tailrace_output_progress(output));
    OK(tailrace_output_finish(output));
    const char* last = NULL;
    OK(tailrace_output_last_complete(output, &last));
    CHECK(strcmp(last, path) == 0);
    tailrace_output_statistics seen;
    OK(tailrace_output_get_statistics(output, &seen));
    CHECK(seen.complete == 1 && seen.stall_s <= seen.call_s && seen.call_s > 0);
    OK(tailrace_output_describe(output, &last));
    CHECK(strlen(last) > 0);
    OK(tailrace_output_describe_statistics(output, &last));
    CHECK(strstr(last, "1 of 1 steps") != NULL);
    CHECK(this_rank != 0 || seen.writer_cpu_s > 0);
    /* One rank's array of a wrong size: refused on all. */
    OK(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, NULL, u,
                                  this_rank == 0 ? num_items - 1 : num_items));
    REFUSED(tailrace_output_write(output, path, contents), TAILRACE_INVALID_INPUT, "variable u");
    OK(tailrace_output_last_result(output, &result));
    CHECK(result == -1);
    OK(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, NULL, u, num_items));
    OK(tailrace_output_destroy(&output));
    read_again(comm, path);
  }
  char path[1024], file[1024];
  snprintf(path, sizeof path, "%s/c_face.xdmf", folder);
  snprintf(file, sizeof file, "%s/c_face_0.h5", folder);
  OK(tailrace_write_xdmf(comm, path, 1, (const char*[]){file}, (double[]){0.5}, 1,
                         (const char*[]){"u"}, (int64_t[]){1, 7, 6}, (double[]){1, 1, 1},
                         TAILRACE_FLOAT64));
  char series[1024];
  snprintf(series, sizeof series, "%s/c_series.h5", folder);
  snprintf(file, sizeof file, "%s/c_step.h5", folder);
  tailrace_output_options options = tailrace_output_defaults();
  options.series = series;
  tailrace_output* output = NULL;
  OK(tailrace_output_create(comm, &options, &output));
  OK(tailrace_output_write(output, file, contents));
  OK(tailrace_output_destroy(&output));
  FILE* whole = fopen(series, "rb");
  CHECK(whole != NULL);
  if (whole != NULL) fclose(whole);
  OK(tailrace_contents_destroy(&contents));
  OK(tailrace_memory_destroy(&halo));
  OK(tailrace_layout_destroy(&layout));
  free(u);
  free(wide);
}

void test_output_errors(const tailrace_comm* comm, const char* folder) {
  (void)folder;
  tailrace_layout* layout = NULL;
  OK(tailrace_layout_slabs(2, extents, 0, all_ranks, &layout));
  const tailrace_box box = own_box(layout);
  double* u = rows(&box, 0);
  tailrace_contents* contents = NULL;
  OK(tailrace_contents_create(&contents));
  OK(tailrace_contents_variable(contents, "u", TAILRACE_FLOAT64, layout, NULL, u,
                                box.extents[0] * box.extents[1]));
  OK(tailrace_contents_step(contents, 17));
  tailrace_output_options options = tailrace_output_defaults();
  options.servers = "none";
  tailrace_output* output = NULL;
  OK(tailrace_output_create(comm, &options, &output));
  REFUSED(tailrace_output_write(output, "/no/such/folder/u.h5", contents), TAILRACE_IO,
          "/no/such/folder/u.h5");
  CHECK(tailrace_error_errno() == ENOENT);
  CHECK(tailrace_error_rank() == 0);
  CHECK(strcmp(tailrace_error_path(), "/no/such/folder/u.h5") == 0);
  CHECK(tailrace_error_step() == 17);
  REFUSED(tailrace_output_write(output, NULL, contents), TAILRACE_INVALID_INPUT, "path is NULL");
  REFUSED(tailrace_output_write(output, "x.h5", NULL), TAILRACE_INVALID_INPUT,
          "the tailrace_contents given is NULL");
  OK(tailrace_output_destroy(&output));
  options.strategy = "no such one";
  REFUSED(tailrace_output_create(comm, &options, &output), TAILRACE_INVALID_INPUT, "no such one");
  options = tailrace_output_defaults();
  options.servers = "1 per node"; /* a session splits off ranks */
  REFUSED(tailrace_output_create(comm, &options, &output), TAILRACE_INVALID_INPUT, "Session");
  options = tailrace_output_defaults();
  if (this_rank == all_ranks - 1) options.when_full = 5;
  REFUSED(tailrace_output_create(comm, &options, &output), TAILRACE_INVALID_INPUT, "when_full: 5");
  tailrace_input* input = NULL;
  REFUSED(tailrace_input_open(comm, "/no/such.h5", NULL, &input), TAILRACE_IO, "/no/such.h5");
  CHECK(tailrace_error_errno() == ENOENT);
  CHECK(strcmp(tailrace_error_path(), "/no/such.h5") == 0 && tailrace_error_step() == -1);
  OK(tailrace_contents_destroy(&contents));
  OK(tailrace_layout_destroy(&layout));
  free(u);
}
