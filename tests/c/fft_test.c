/* SPDX-License-Identifier: BSD-3-Clause */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "check.h"

/* A real wave cos(z + 2 x): forward has two modes of half its size, and back gives it again. */
static void test_real(const tailrace_comm* comm) {
  const int64_t extents[3] = {8, 6, 10};
  tailrace_transform* transform = NULL;
  OK(tailrace_transform_create(comm, extents, NULL, &transform));
  tailrace_box box;
  OK(tailrace_transform_physical_box(transform, &box));
  int64_t num_items = 0, num_modes = 0;
  OK(tailrace_transform_sizes(transform, &num_items, &num_modes));
  double* u = malloc(sizeof(double) * (size_t)(num_items + 1));
  double* again = malloc(sizeof(double) * (size_t)(num_items + 1));
  double complex* modes = malloc(sizeof(double complex) * (size_t)(num_modes + 1));
  const double pi = acos(-1.0);
  double* next = u;
  for (int64_t z = 0; z < box.extents[0]; ++z)
    for (int64_t y = 0; y < box.extents[1]; ++y)
      for (int64_t x = 0; x < box.extents[2]; ++x)
        *next++ = cos(2 * pi * (double)(box.start[0] + z) / 8 +
                      2 * pi * 2 * (double)(box.start[2] + x) / 10);
  const void* fields[1] = {u};
  void* out[1] = {modes};
  OK(tailrace_transform_forward(transform, 1, fields, num_items, out, num_modes));
  const int *kz = NULL, *ky = NULL, *kx = NULL;
  int64_t nz = 0, ny = 0, nx = 0;
  OK(tailrace_transform_modes(transform, 0, &kz, &nz));
  OK(tailrace_transform_modes(transform, 1, &ky, &ny));
  OK(tailrace_transform_modes(transform, 2, &kx, &nx));
  CHECK(nz * ny * nx == num_modes);
  for (int64_t j = 0; j < ny; ++j)
    for (int64_t l = 0; l < nz; ++l)
      for (int64_t i = 0; i < nx; ++i) {
        const double wanted = kz[l] == 1 && ky[j] == 0 && kx[i] == 2 ? 240 : 0;
        CHECK(cabs(modes[(j * nz + l) * nx + i] - wanted) < 1e-10);
      }
  const void* in[1] = {modes};
  void* back[1] = {again};
  OK(tailrace_transform_backward(transform, 1, in, num_modes, back, num_items));
  for (int64_t i = 0; i < num_items; ++i) CHECK(fabs(again[i] / 480 - u[i]) < 1e-12);

  tailrace_layout* layout = NULL;
  tailrace_memory* memory = NULL;
  int64_t found = 0;
  OK(tailrace_transform_physical_layout(transform, &layout));
  OK(tailrace_layout_num_items(layout, this_rank, &found));
  CHECK(found == num_items);
  OK(tailrace_layout_destroy(&layout));
  OK(tailrace_transform_spectral_layout(transform, &layout));
  OK(tailrace_layout_num_items(layout, this_rank, &found));
  CHECK(found == num_modes);
  OK(tailrace_layout_destroy(&layout));
  OK(tailrace_transform_spectral_memory(transform, &memory));
  OK(tailrace_memory_destroy(&memory));
  int grid[2] = {0, 0};
  const char* text = NULL;
  OK(tailrace_transform_grid(transform, grid));
  CHECK(grid[0] * grid[1] == all_ranks);
  OK(tailrace_transform_describe(transform, &text));
  CHECK(strlen(text) > 0);
  OK(tailrace_transform_kernel(transform, &text));
  OK(tailrace_transform_method(transform, &text));
  OK(tailrace_transform_grid_why(transform, &text));
  OK(tailrace_transform_buffer_bytes(transform, &found));

  REFUSED(tailrace_transform_forward(transform, 1, fields, num_items + 1, out, num_modes),
          TAILRACE_INVALID_INPUT, "this rank has");
  REFUSED(tailrace_transform_modes(transform, 3, &kz, &nz), TAILRACE_INVALID_INPUT, "axis");
  OK(tailrace_transform_destroy(&transform));
  free(u);
  free(again);
  free(modes);
}

static void test_complex_single(const tailrace_comm* comm) {
  tailrace_transform_options options = tailrace_transform_defaults();
  options.type = TAILRACE_COMPLEX64;
  options.max_fields = 2;
  tailrace_transform* transform = NULL;
  OK(tailrace_transform_create(comm, (int64_t[]){4, 4, 4}, &options, &transform));
  int64_t num_items = 0, num_modes = 0;
  OK(tailrace_transform_sizes(transform, &num_items, &num_modes));
  float complex* u = calloc((size_t)(num_items + 1), sizeof(float complex));
  float complex* v = calloc((size_t)(num_modes + 1), sizeof(float complex));
  for (int64_t i = 0; i < num_items; ++i) u[i] = 1 + 2 * I;
  const void* fields[2] = {u, u};
  void* out[2] = {v, v + 0};
  OK(tailrace_transform_forward(transform, 1, fields, num_items, out, num_modes));
  const int* k[3];
  int64_t n[3];
  for (int d = 0; d < 3; ++d) OK(tailrace_transform_modes(transform, d, &k[d], &n[d]));
  for (int64_t m = 0; m < num_modes; ++m) {
    const int zero =
        k[1][m / (n[0] * n[2])] == 0 && k[0][m / n[2] % n[0]] == 0 && k[2][m % n[2]] == 0;
    CHECK(cabsf(v[m] - (zero ? 64 + 128 * I : 0)) < 1e-4f);
  }
  OK(tailrace_transform_destroy(&transform));
  options.type = TAILRACE_INT32;
  REFUSED(tailrace_transform_create(comm, (int64_t[]){4, 4, 4}, &options, &transform),
          TAILRACE_INVALID_INPUT, "type must be");
  REFUSED(tailrace_transform_create(comm, (int64_t[]){4, 0, 4}, NULL, &transform),
          TAILRACE_INVALID_INPUT, "extent 0 of axis y");
  options = tailrace_transform_defaults();
  if (this_rank == all_ranks - 1) options.kernel = "nonsense";
  REFUSED(tailrace_transform_create(comm, (int64_t[]){4, 4, 4}, &options, &transform),
          TAILRACE_INVALID_INPUT, "");
  free(u);
  free(v);
}

/* The other order, and a scale: the mean is one mode, wherever the rank has it. */
static void test_order_and_scale(const tailrace_comm* comm) {
  tailrace_transform_options options = tailrace_transform_defaults();
  options.mode_order = TAILRACE_KZ_KY_KX;
  options.scale = 1.0 / (8 * 6 * 10);
  tailrace_transform* transform = NULL;
  OK(tailrace_transform_create(comm, (int64_t[]){8, 6, 10}, &options, &transform));
  tailrace_box box;
  OK(tailrace_transform_physical_box(transform, &box));
  int64_t num_items = 0, num_modes = 0;
  OK(tailrace_transform_sizes(transform, &num_items, &num_modes));
  double* u = malloc(sizeof(double) * (size_t)(num_items + 1));
  double complex* modes = malloc(sizeof(double complex) * (size_t)(num_modes + 1));
  const double pi = acos(-1.0);
  for (int64_t i = 0; i < num_items; ++i)
    u[i] = 3 + 2 * cos(2 * pi * (double)(box.start[1] + i / 10 % box.extents[1]) / 6);
  const void* fields[1] = {u};
  void* out[1] = {modes};
  OK(tailrace_transform_forward(transform, 1, fields, num_items, out, num_modes));
  const int* k[3];
  int64_t n[3];
  for (int d = 0; d < 3; ++d) OK(tailrace_transform_modes(transform, d, &k[d], &n[d]));
  for (int64_t m = 0; m < num_modes; ++m) {
    const int kz = k[0][m / (n[1] * n[2])], ky = k[1][m / n[2] % n[1]], kx = k[2][m % n[2]];
    const double wanted = kz != 0 || kx != 0 ? 0 : ky == 0 ? 3 : ky == 1 || ky == -1 ? 1 : 0;
    CHECK(cabs(modes[m] - wanted) < 1e-12);
  }
  OK(tailrace_transform_destroy(&transform));
  options.scale = 0;
  REFUSED(tailrace_transform_create(comm, (int64_t[]){8, 6, 10}, &options, &transform),
          TAILRACE_INVALID_INPUT, "scale 0");
  free(u);
  free(modes);
}

/* The same without an object: `modes` are the transform of `u`. */
static void test_calls(const tailrace_comm* comm, tailrace_array_transform_options* options,
                       const double* u, int64_t num_items, const double complex* modes,
                       int64_t num_modes) {
  const int64_t extents[3] = {2, 9, 8};
  tailrace_layout *points = NULL, *waves = NULL;
  OK(tailrace_fft_physical_layout(comm, 3, extents, options, &points));
  OK(tailrace_fft_spectral_layout(comm, 3, extents, options, &waves));
  int64_t num_points = -1, num_waves = -1;
  OK(tailrace_layout_num_items(points, this_rank, &num_points));
  OK(tailrace_layout_num_items(waves, this_rank, &num_waves));
  CHECK(num_points == num_items && num_waves == num_modes);
  OK(tailrace_layout_destroy(&points));
  OK(tailrace_layout_destroy(&waves));
  double complex* found = malloc(sizeof(double complex) * (size_t)(num_modes + 1));
  double* again = malloc(sizeof(double) * (size_t)(num_items + 1));
  for (int run = 0; run < 2; ++run) {
    memset(found, 0, sizeof(double complex) * (size_t)(num_modes + 1));
    OK(tailrace_fft_transform(comm, 3, extents, options, u, num_items, found, num_modes));
    for (int64_t i = 0; i < num_modes; ++i) CHECK(cabs(found[i] - modes[i]) < 1e-13);
    OK(tailrace_fft_inverse(comm, 3, extents, options, found, num_modes, again, num_items));
    for (int64_t i = 0; i < num_items; ++i) CHECK(fabs(again[i] - u[i]) < 1e-12);
    const int64_t wrong = this_rank == 0 ? num_items + 1 : num_items;
    REFUSED(tailrace_fft_transform(comm, 3, extents, options, u, wrong, found, num_modes),
            TAILRACE_INVALID_INPUT, "this rank has");
  }
  /* Modes of a real field without Fourier axes are real. */
  const int kind = options->kinds[1];
  options->kinds[1] = TAILRACE_DST2;
  OK(tailrace_fft_physical_layout(comm, 3, extents, options, &points));
  OK(tailrace_fft_spectral_layout(comm, 3, extents, options, &waves));
  OK(tailrace_layout_num_items(points, this_rank, &num_points));
  OK(tailrace_layout_num_items(waves, this_rank, &num_waves));
  CHECK(num_points == num_items && num_waves == num_points);
  OK(tailrace_fft_transform(comm, 3, extents, options, u, num_items, again, num_items));
  OK(tailrace_fft_inverse(comm, 3, extents, options, again, num_items, again, num_items));
  for (int64_t i = 0; i < num_items; ++i) CHECK(fabs(again[i] - u[i]) < 1e-12);
  options->kinds[1] = kind;
  OK(tailrace_layout_destroy(&points));
  OK(tailrace_layout_destroy(&waves));
  free(found);
  free(again);
}

/* A channel: a wave along x, a mode of the cosine transform across, a batch of two. */
static void test_arrays(const tailrace_comm* comm) {
  tailrace_array_transform_options options = tailrace_array_transform_defaults();
  const int64_t extents[3] = {2, 9, 8};
  options.num_axes = 2;
  options.axes[0] = 1;
  options.axes[1] = 2;
  options.kinds[0] = TAILRACE_DCT2;
  options.kinds[1] = TAILRACE_FOURIER;
  options.scale = 1.0 / (2 * 9 * 8);
  tailrace_array_transform* transform = NULL;
  OK(tailrace_array_transform_create(comm, 3, extents, &options, &transform));
  int64_t num_items = 0, num_modes = 0;
  OK(tailrace_array_transform_sizes(transform, &num_items, &num_modes));
  tailrace_layout *points = NULL, *waves = NULL;
  OK(tailrace_array_transform_physical_layout(transform, &points));
  OK(tailrace_array_transform_spectral_layout(transform, &waves));
  int64_t whole[TAILRACE_MAX_DIMS];
  OK(tailrace_layout_extents(waves, whole));
  CHECK(whole[0] == 2 && whole[1] == 9 && whole[2] == 5);
  tailrace_box box = {0}, modes_box = {0};
  if (num_items > 0) OK(tailrace_layout_box(points, this_rank, 0, &box));
  if (num_modes > 0) OK(tailrace_layout_box(waves, this_rank, 0, &modes_box));
  double* u = malloc(sizeof(double) * (size_t)(num_items + 1));
  double* again = malloc(sizeof(double) * (size_t)(num_items + 1));
  double complex* modes = malloc(sizeof(double complex) * (size_t)(num_modes + 1));
  const double pi = acos(-1.0);
  for (int64_t i = 0; i < num_items; ++i) {
    const int64_t x = box.start[2] + i % box.extents[2];
    const int64_t y = box.start[1] + i / box.extents[2] % box.extents[1];
    const int64_t b = box.start[0] + i / (box.extents[2] * box.extents[1]);
    u[i] = (double)(b + 1) * cos(2 * pi * (double)x * 3 / 8) * cos(pi * ((double)y + 0.5) * 2 / 9);
  }
  OK(tailrace_array_transform_forward(transform, u, num_items, modes, num_modes));
  for (int64_t i = 0; i < num_modes; ++i) {
    const int64_t kx = modes_box.start[2] + i % modes_box.extents[2];
    const int64_t ky = modes_box.start[1] + i / modes_box.extents[2] % modes_box.extents[1];
    const int64_t b = modes_box.start[0] + i / (modes_box.extents[2] * modes_box.extents[1]);
    const double wanted = kx == 3 && ky == 2 ? 0.25 * (double)(b + 1) : 0;
    CHECK(cabs(modes[i] - wanted) < 1e-13);
  }
  OK(tailrace_array_transform_backward(transform, modes, num_modes, again, num_items));
  for (int64_t i = 0; i < num_items; ++i) CHECK(fabs(again[i] - u[i]) < 1e-12);
  int type = -1;
  OK(tailrace_array_transform_modes_type(transform, &type));
  CHECK(type == TAILRACE_COMPLEX128);
  double normalization = 0;
  OK(tailrace_array_transform_normalization(transform, &normalization));
  CHECK(fabs(normalization * (2 * 9 * 8) - 1) < 1e-14);
  const char* text = NULL;
  OK(tailrace_array_transform_describe(transform, &text));
  CHECK(strstr(text, "1 dct2") != NULL);
  OK(tailrace_array_transform_kernel(transform, &text));
  int64_t num_bytes = 0;
  OK(tailrace_array_transform_buffer_bytes(transform, &num_bytes));
  REFUSED(tailrace_array_transform_forward(transform, u, num_items + 1, modes, num_modes),
          TAILRACE_INVALID_INPUT, "this rank has");
  OK(tailrace_array_transform_destroy(&transform));
  test_calls(comm, &options, u, num_items, modes, num_modes);
  OK(tailrace_layout_destroy(&points));
  OK(tailrace_layout_destroy(&waves));
  options.axes[1] = 1;
  REFUSED(tailrace_array_transform_create(comm, 3, extents, &options, &transform),
          TAILRACE_INVALID_INPUT, "listed twice");
  free(u);
  free(again);
  free(modes);
}

void test_transform(const tailrace_comm* comm) {
  test_arrays(comm);
  test_real(comm);
  test_order_and_scale(comm);
  test_complex_single(comm);
}
