/* SPDX-License-Identifier: BSD-3-Clause */
#include "arrays.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { max_fields = 64 };

/* When the library of the module is loaded. */
__attribute__((constructor)) static void order_errors(void) { tailrace_errors_in_fortran_order(); }

/* What a descriptor says, in items. */
typedef struct Array {
  void* data;
  int type; /* of tailrace_type, or -1 */
  int num_dims;
  int is_contiguous, has_strides; /* has_strides: whole items, forwards */
  int64_t item_bytes;
  int64_t num_items; /* of the array */
  int64_t reach;     /* from its first item to behind its last one */
  int64_t extents[CFI_MAX_RANK], strides[CFI_MAX_RANK]; /* in the order of Fortran */
} Array;

static int type_of(CFI_type_t type) {
  switch (type) {
    case CFI_type_float:
      return TAILRACE_FLOAT32;
    case CFI_type_double:
      return TAILRACE_FLOAT64;
    case CFI_type_float_Complex:
      return TAILRACE_COMPLEX64;
    case CFI_type_double_Complex:
      return TAILRACE_COMPLEX128;
    case CFI_type_int8_t:
      return TAILRACE_INT8;
    case CFI_type_int16_t:
      return TAILRACE_INT16;
    case CFI_type_int32_t:
      return TAILRACE_INT32;
    case CFI_type_int64_t:
      return TAILRACE_INT64;
    default:
      return -1;
  }
}

static Array describe(const CFI_cdesc_t* given) {
  Array array = {.data = given->base_addr,
                 .type = type_of(given->type),
                 .num_dims = given->rank,
                 .is_contiguous = 1,
                 .has_strides = 1,
                 .item_bytes = (int64_t)given->elem_len,
                 .num_items = 1,
                 .reach = 1};
  /* Items of character(len=0) have no bytes, an array that is not allocated has no items. */
  const int64_t divisor = array.item_bytes > 0 ? array.item_bytes : 1;
  for (int d = 0; d < given->rank; ++d) {
    const int64_t extent = given->base_addr != NULL ? given->dim[d].extent : 0;
    const int64_t step = given->dim[d].sm;
    if (extent > 1 && step != array.num_items * array.item_bytes) array.is_contiguous = 0;
    if (extent > 1 && (step <= 0 || step % divisor != 0)) array.has_strides = 0;
    array.extents[d] = extent;
    array.strides[d] = step / divisor;
    array.reach += (extent - 1) * array.strides[d];
    array.num_items *= extent;
  }
  if (array.num_items == 0) {
    array.is_contiguous = array.has_strides = 1;
    array.reach = 0;
  }
  if (array.is_contiguous) array.reach = array.num_items;
  return array;
}

static int refuse(const char* call, const char* why) {
  char text[512];
  snprintf(text, sizeof text, "%s: %s", call, why);
  return tailrace_fail(TAILRACE_INVALID_INPUT, text);
}

static const char* const not_contiguous =
    "the array is a section with gaps; pass a contiguous array";
static const char* const backwards =
    "the array has a negative stride, or a stride that is not a multiple of the item size";

void tailrace_f_stop(const char* text) {
  fprintf(stderr, "tailrace: %s\n", text);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

/* The strides in the order of files. */
static int memory_of(const Array* array, tailrace_memory** memory) {
  int64_t strides[TAILRACE_MAX_DIMS] = {0};
  const int64_t first = 0;
  for (int d = 0; d < array->num_dims; ++d) strides[d] = array->strides[array->num_dims - 1 - d];
  return tailrace_memory_strided(array->num_items > 0, array->num_dims, &first, strides,
                                 array->reach, memory);
}

int tailrace_f_memory(const CFI_cdesc_t* given, tailrace_memory** memory, int* num_dims,
                      int64_t strides[TAILRACE_MAX_DIMS]) {
  const Array array = describe(given);
  if (array.num_dims < 1 || array.num_dims > TAILRACE_MAX_DIMS)
    return refuse("memory", "the array must have 1 to 5 axes");
  if (array.item_bytes < 1) return refuse("memory", "the items of the array have a size of 0");
  if (!array.has_strides) return refuse("memory", backwards);
  *num_dims = array.num_dims;
  for (int d = 0; d < array.num_dims; ++d) strides[d] = array.strides[d];
  return memory_of(&array, memory);
}

/* Whether an array is what an exchange was made for. */
static int fits(const Array* array, int num_fields, int num_dims, const int64_t* strides) {
  if (num_dims == 0) return array->is_contiguous;
  if (num_fields != 1 || array->num_dims != num_dims) return 0;
  for (int d = 0; d < num_dims; ++d)
    if (array->extents[d] > 1 && array->strides[d] != strides[d]) return 0;
  return 1;
}

/* Addresses of the fields along the last axis. */
static void split_fields(const Array* array, int num_fields, void** fields) {
  const int64_t bytes = num_fields > 0 ? array->num_items / num_fields * array->item_bytes : 0;
  for (int f = 0; f < num_fields; ++f) fields[f] = (char*)array->data + f * bytes;
}

static int last_axis_is(const Array* array, int num_fields) {
  return num_fields == 1 ||
         (array->num_dims > 0 && array->extents[array->num_dims - 1] == num_fields);
}

int tailrace_f_exchange(tailrace_exchange* exchange, int start, int num_fields, int64_t item_bytes,
                        const CFI_cdesc_t* source, int source_dims, const int64_t* source_strides,
                        const CFI_cdesc_t* destination, int destination_dims,
                        const int64_t* destination_strides) {
  const Array from = describe(source), to = describe(destination);
  const char* why = NULL;
  void *sources[max_fields], *destinations[max_fields];
  if (num_fields < 1 || num_fields > max_fields)
    why = "the number of fields must be 1 to 64";
  else if (from.item_bytes != item_bytes || to.item_bytes != item_bytes)
    why =
        "the items of an array do not have the size for which the exchange was created "
        "(item_bytes)";
  else if (!last_axis_is(&from, num_fields) || !last_axis_is(&to, num_fields))
    why = "the last axis of both arrays must be that of the fields";
  else if (!fits(&from, num_fields, source_dims, source_strides))
    why =
        "the source is a section for which the exchange was not created: pass its memory to create "
        "(memory%of), or pass a contiguous array";
  else if (!fits(&to, num_fields, destination_dims, destination_strides))
    why =
        "the destination is a section for which the exchange was not created: pass its memory to "
        "create (memory%of), or pass a contiguous array";
  /* All ranks that exchange must learn of it. */
  if (why != NULL) {
    const int status = tailrace_exchange_run_fields(exchange, -1, NULL, 0, NULL, 0);
    return status == TAILRACE_OK ? status : refuse("exchange", why);
  }
  split_fields(&from, num_fields, sources);
  split_fields(&to, num_fields, destinations);
  const int64_t num_from = source_dims > 0 ? from.reach : from.num_items / num_fields;
  const int64_t num_to = destination_dims > 0 ? to.reach : to.num_items / num_fields;
  return (start ? tailrace_exchange_start_fields : tailrace_exchange_run_fields)(
      exchange, num_fields, (const void* const*)sources, num_from, destinations, num_to);
}

/* Why an array cannot be `rank`'s part of a layout, in `why`; or "". */
static int check_shape(const Array* array, const tailrace_layout* layout, int rank, char* why,
                       size_t why_bytes) {
  int num_dims = 0;
  int64_t num_boxes = 0;
  why[0] = '\0';
  int status = tailrace_layout_num_dims(layout, &num_dims);
  if (status == TAILRACE_OK) status = tailrace_layout_num_boxes(layout, rank, &num_boxes);
  if (status != TAILRACE_OK) return status;
  if (array->type < 0)
    snprintf(why, why_bytes, "files cannot contain arrays of this type");
  else if (!array->has_strides)
    snprintf(why, why_bytes, "%s", backwards);
  if (why[0] != '\0' || (array->is_contiguous && array->num_dims == 1)) return TAILRACE_OK;
  if (num_boxes == 0 && array->num_items == 0) return TAILRACE_OK;
  if (num_boxes != 1 || array->num_dims != num_dims) {
    snprintf(why, why_bytes,
             "the array has %d axes, the layout %d and %lld boxes on this rank; several boxes go "
             "into one contiguous array of one axis",
             array->num_dims, num_dims, (long long)num_boxes);
    return TAILRACE_OK;
  }
  tailrace_box box;
  status = tailrace_layout_box(layout, rank, 0, &box);
  for (int d = 0; status == TAILRACE_OK && d < num_dims && why[0] == '\0'; ++d) {
    const int64_t wanted = box.extents[num_dims - 1 - d];
    if (array->extents[d] == wanted) continue;
    snprintf(why, why_bytes, "axis %d of the array has %lld items, this rank's box %lld", d + 1,
             (long long)array->extents[d], (long long)wanted);
  }
  return status;
}

int tailrace_f_variable(tailrace_contents* contents, const char* name,
                        const tailrace_layout* layout, int rank, const CFI_cdesc_t* given) {
  const Array array = describe(given);
  char why[200], call[300];
  int status = check_shape(&array, layout, rank, why, sizeof why);
  if (status != TAILRACE_OK) return status;
  snprintf(call, sizeof call, "variable %s", name);
  if (why[0] != '\0') return refuse(call, why);
  tailrace_memory* memory = NULL;
  if (!array.is_contiguous) status = memory_of(&array, &memory);
  if (status == TAILRACE_OK)
    status = tailrace_contents_variable(contents, name, array.type, layout, memory, array.data,
                                        array.reach);
  if (memory != NULL) tailrace_memory_destroy(&memory);
  return status;
}

int tailrace_f_write(tailrace_output* output, const char* path, const char* name,
                     const tailrace_layout* layout, int rank, const CFI_cdesc_t* given) {
  char why[500] = "";
  tailrace_contents* contents = NULL;
  int status = tailrace_contents_create(&contents);
  if (status == TAILRACE_OK) status = tailrace_f_variable(contents, name, layout, rank, given);
  const int fault = status;
  if (fault != TAILRACE_OK) snprintf(why, sizeof why, "%s", tailrace_error());
  status = tailrace_output_write(output, path, fault == TAILRACE_OK ? contents : NULL);
  if (contents != NULL) tailrace_contents_destroy(&contents);
  return fault == TAILRACE_OK ? status : tailrace_fail(fault, why);
}

int tailrace_f_read(tailrace_input* input, const char* name, const tailrace_layout* layout,
                    int rank, const CFI_cdesc_t* given) {
  const Array array = describe(given);
  char why[200] = "", call[300];
  tailrace_memory* memory = NULL;
  int status = check_shape(&array, layout, rank, why, sizeof why);
  int is_right = status == TAILRACE_OK && why[0] == '\0';
  if (is_right && !array.is_contiguous) is_right = memory_of(&array, &memory) == TAILRACE_OK;
  /* A wrong type is refused on all ranks together. */
  status = tailrace_input_read(input, name, is_right ? array.type : -1, layout, memory, array.data,
                               array.reach);
  if (memory != NULL) tailrace_memory_destroy(&memory);
  if (status == TAILRACE_OK || why[0] == '\0') return status;
  snprintf(call, sizeof call, "read %s", name);
  return refuse(call, why);
}

int tailrace_f_read_all(tailrace_input* input, const char* name, const CFI_cdesc_t* given) {
  const Array array = describe(given);
  const int status = tailrace_input_read_all(input, name, array.is_contiguous ? array.type : -1,
                                             array.data, array.num_items);
  return array.is_contiguous ? status : refuse("read_all", not_contiguous);
}

int tailrace_f_reduce(tailrace_reduction* reduction, int start, int to_all,
                      const CFI_cdesc_t* values, int op, int root) {
  const Array array = describe(values);
  const int type = array.is_contiguous ? array.type : -1;
  int status = TAILRACE_OK;
  if (!to_all)
    status = (start ? tailrace_reduction_start_reduce : tailrace_reduction_reduce)(
        reduction, array.data, array.num_items, type, op, root);
  else
    status = (start ? tailrace_reduction_start_allreduce : tailrace_reduction_allreduce)(
        reduction, array.data, array.data, array.num_items, type, op);
  return array.is_contiguous ? status : refuse("reduction", not_contiguous);
}

int tailrace_f_dot(tailrace_reduction* reduction, const CFI_cdesc_t* x, const CFI_cdesc_t* y,
                   const CFI_cdesc_t* result) {
  const Array left = describe(x), right = describe(y), sum = describe(result);
  const int is_complex = left.type == TAILRACE_COMPLEX64 || left.type == TAILRACE_COMPLEX128;
  const char* why = NULL;
  if (!left.is_contiguous || !right.is_contiguous)
    why = not_contiguous;
  else if (left.type != right.type || left.num_items != right.num_items)
    why = "x and y must be of one type and size";
  else if (sum.num_items != 1 || sum.type != (is_complex ? TAILRACE_COMPLEX128 : TAILRACE_FLOAT64))
    why = "the result must be one real64, of complex vectors one complex(real64)";
  const void *xs[1] = {left.data}, *ys[1] = {right.data};
  const int status = tailrace_reduction_dots(reduction, 1, xs, ys, &left.num_items,
                                             why == NULL ? left.type : -1, sum.data);
  return why == NULL ? status : refuse("dot", why);
}

int tailrace_f_transform(tailrace_transform* transform, int backward, int num_fields, int type,
                         const CFI_cdesc_t* fields, const CFI_cdesc_t* modes) {
  const Array points = describe(fields), waves = describe(modes);
  const int single = type == TAILRACE_FLOAT32 || type == TAILRACE_COMPLEX64;
  const char* why = NULL;
  void *in[max_fields], *out[max_fields];
  if (!points.is_contiguous || !waves.is_contiguous)
    why = not_contiguous;
  else if (points.type != type || waves.type != (single ? TAILRACE_COMPLEX64 : TAILRACE_COMPLEX128))
    why = "the arrays do not have the types for which the transform was created";
  else if (num_fields < 1 || num_fields > max_fields)
    why = "the number of fields must be 1 to 64";
  else if (!last_axis_is(&points, num_fields) || !last_axis_is(&waves, num_fields))
    why = "the last axis of both arrays must be that of the fields";
  const int count = why == NULL ? num_fields : -1;
  const int64_t num_items = points.num_items / (count > 0 ? count : 1);
  const int64_t num_modes = waves.num_items / (count > 0 ? count : 1);
  split_fields(&points, count, backward ? out : in);
  split_fields(&waves, count, backward ? in : out);
  const int status = backward
                         ? tailrace_transform_backward(transform, count, (const void* const*)in,
                                                       num_modes, out, num_items)
                         : tailrace_transform_forward(transform, count, (const void* const*)in,
                                                      num_items, out, num_modes);
  return why == NULL ? status : refuse("transform", why);
}

int tailrace_f_array_transform(tailrace_array_transform* transform, int backward, int type,
                               const CFI_cdesc_t* field, const CFI_cdesc_t* modes) {
  const Array points = describe(field), waves = describe(modes);
  int modes_type = -1;
  const int made = tailrace_array_transform_modes_type(transform, &modes_type);
  if (made != TAILRACE_OK) return made;
  const char* why = NULL;
  if (!points.is_contiguous || !waves.is_contiguous)
    why = not_contiguous;
  else if (points.type != type || waves.type != modes_type)
    why = "the arrays do not have the types for which the transform was created";
  /* All ranks must learn of it: a size that no rank has is refused. */
  const int64_t num_items = why == NULL ? points.num_items : -1;
  const int status = backward ? tailrace_array_transform_backward(
                                    transform, waves.data, waves.num_items, points.data, num_items)
                              : tailrace_array_transform_forward(transform, points.data, num_items,
                                                                 waves.data, waves.num_items);
  return why == NULL ? status : refuse("array_transform", why);
}

int tailrace_f_fft(const tailrace_comm* comm, int backward, int num_dims, const int64_t* extents,
                   const tailrace_array_transform_options* options, const CFI_cdesc_t* field,
                   const CFI_cdesc_t* modes) {
  const Array points = describe(field), waves = describe(modes);
  tailrace_array_transform_options wanted = *options;
  wanted.type = points.type;
  const int is_complex = points.type == TAILRACE_COMPLEX64 || points.type == TAILRACE_COMPLEX128;
  const int single = points.type == TAILRACE_FLOAT32 || points.type == TAILRACE_COMPLEX64;
  int has_fourier = options->num_axes == 0;
  for (int i = 0; i < options->num_axes; ++i) has_fourier |= options->kinds[i] == TAILRACE_FOURIER;
  const int modes_type = !is_complex && !has_fourier ? points.type
                         : single                    ? TAILRACE_COMPLEX64
                                                     : TAILRACE_COMPLEX128;
  const char* why = NULL;
  if (!points.is_contiguous || !waves.is_contiguous)
    why = not_contiguous;
  else if (options->num_axes >= 0 && waves.type != modes_type)
    why = "the type of the modes does not match the field and the kinds";
  /* All ranks must learn of it: a size that no rank has is refused. */
  const int64_t num_items = why == NULL ? points.num_items : -1;
  const int status = backward
                         ? tailrace_fft_inverse(comm, num_dims, extents, &wanted, waves.data,
                                                waves.num_items, points.data, num_items)
                         : tailrace_fft_transform(comm, num_dims, extents, &wanted, points.data,
                                                  num_items, waves.data, waves.num_items);
  return why == NULL ? status : refuse("fft", why);
}
