/* SPDX-License-Identifier: BSD-3-Clause */
/* Parallel transforms of any axes of an array: Fourier, cosine and sine. See tailrace.h for the
   rules of all calls. */
#ifndef TAILRACE_C_ARRAY_TRANSFORM_H
#define TAILRACE_C_ARRAY_TRANSFORM_H

#include <stdint.h>

#include "tailrace/c/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The transform along an axis: Fourier, or the cosine or sine transform I to IV of FFTW and
   scipy.fft, not normalised. */
enum tailrace_axis_kind {
  TAILRACE_FOURIER = 0,
  TAILRACE_DCT1 = 1,
  TAILRACE_DCT2 = 2,
  TAILRACE_DCT3 = 3,
  TAILRACE_DCT4 = 4,
  TAILRACE_DST1 = 5,
  TAILRACE_DST2 = 6,
  TAILRACE_DST3 = 7,
  TAILRACE_DST4 = 8
};

typedef struct tailrace_array_transform_options {
  int type; /* type of the field: TAILRACE_FLOAT64 (default), FLOAT32, COMPLEX128 or COMPLEX64 */
  int num_axes; /* transformed axes; the others are batches; 0 (default): all, Fourier */
  int axes[TAILRACE_MAX_DIMS];  /* axes from 0 (slowest); forward transforms the last of them first
                                 */
  int kinds[TAILRACE_MAX_DIMS]; /* kind of each of `axes`; default TAILRACE_FOURIER */
  int64_t kept[TAILRACE_MAX_DIMS];  /* number of points whose modes are kept; 0: all */
  int swap_with[TAILRACE_MAX_DIMS]; /* axis that is divided instead when this one is transformed; -1
                                       (default): the axis transformed before */
  int grid[TAILRACE_MAX_DIMS];      /* ranks along each axis of the field; 0 (default): choose */
  double scale;                     /* factor of modes in forward; default 1 */
  const char* kernel;               /* 1D transform library: "auto" measures */
  const char* method;               /* exchange method: "auto" measures */
  int threads;                      /* OpenMP threads in this rank; default 1 */
} tailrace_array_transform_options;
tailrace_array_transform_options tailrace_array_transform_defaults(void);

typedef struct tailrace_array_transform tailrace_array_transform;

/* Creates a transform of arrays of `extents` items, the last axis the fastest; `options` NULL: the
   defaults. A real field becomes complex at its first Fourier axis, which then has n / 2 + 1 modes.
   Fails on all ranks alike: TAILRACE_INVALID_INPUT for wrong extents, axes, kinds or grids, an
   unknown kernel or method, or options that differ between ranks. Collective, blocking. */
int tailrace_array_transform_create(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                                    const tailrace_array_transform_options* options,
                                    tailrace_array_transform** transform);
int tailrace_array_transform_destroy(tailrace_array_transform** transform);

/* Transforms `field` (`num_items` items) to `modes` (`num_modes` items of the type that
   `tailrace_array_transform_modes_type` gives), or back: backward(forward(u)) is u divided by the
   normalization if the scale is 1. Sizes are checked. Inputs are kept; input and output must not
   overlap, but may be the same array if they have equally many items of the same type. Collective,
   blocking. */
int tailrace_array_transform_forward(tailrace_array_transform* transform, const void* field,
                                     int64_t num_items, void* modes, int64_t num_modes);
int tailrace_array_transform_backward(tailrace_array_transform* transform, const void* modes,
                                      int64_t num_modes, void* field, int64_t num_items);

/* Layouts (new handles) of the points and of the modes, in the order of the array: each rank has
   one box, its array is dense. Local. */
int tailrace_array_transform_physical_layout(const tailrace_array_transform* transform,
                                             tailrace_layout** layout);
int tailrace_array_transform_spectral_layout(const tailrace_array_transform* transform,
                                             tailrace_layout** layout);
/* Number of items in this rank's field and of modes in its spectral array. Local. */
int tailrace_array_transform_sizes(const tailrace_array_transform* transform, int64_t* num_items,
                                   int64_t* num_modes);
/* The type of modes, a `tailrace_type`: real without Fourier axes of a real field. Local. */
int tailrace_array_transform_modes_type(const tailrace_array_transform* transform, int* type);
/* 1 / the product over transformed axes of n (Fourier), 2 (n - 1) (DCT1), 2 (n + 1) (DST1) or 2 n
   (others). Local. */
int tailrace_array_transform_normalization(const tailrace_array_transform* transform,
                                           double* normalization);
/* A paragraph: axes, grid, kernel, passes and exchanges. Local. */
int tailrace_array_transform_describe(const tailrace_array_transform* transform, const char** text);
int tailrace_array_transform_kernel(const tailrace_array_transform* transform, const char** name);
int tailrace_array_transform_buffer_bytes(const tailrace_array_transform* transform,
                                          int64_t* num_bytes);

/* Transforms `field` to `modes` without an object; the arguments are as above. `options` NULL: the
   defaults. `comm` keeps the plans of its last 8 problems until it is destroyed, so the first call
   with a problem takes as long as creating a transform. Fails on all ranks alike. Collective,
   blocking. */
int tailrace_fft_transform(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                           const tailrace_array_transform_options* options, const void* field,
                           int64_t num_items, void* modes, int64_t num_modes);
/* Transforms back, with the same `extents` and `options`: gives the field of
   `tailrace_fft_transform` again if all modes are kept. Collective, blocking. */
int tailrace_fft_inverse(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                         const tailrace_array_transform_options* options, const void* modes,
                         int64_t num_modes, void* field, int64_t num_items);
/* Layouts (new handles) of the points and of the modes of these transforms. Local. */
int tailrace_fft_physical_layout(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                                 const tailrace_array_transform_options* options,
                                 tailrace_layout** layout);
int tailrace_fft_spectral_layout(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                                 const tailrace_array_transform_options* options,
                                 tailrace_layout** layout);

#ifdef __cplusplus
}
#endif
#endif
