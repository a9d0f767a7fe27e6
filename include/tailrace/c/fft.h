/* SPDX-License-Identifier: BSD-3-Clause */
/* Parallel 3D Fourier transforms. Arrays have index order (z, y, x), x fastest. See tailrace.h for
   the rules of all calls. */
#ifndef TAILRACE_C_FFT_H
#define TAILRACE_C_FFT_H

#include <stdint.h>

#include "tailrace/c/layout.h"
#include "tailrace/c/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Index order of a rank's spectral array, the last index fastest. */
enum tailrace_mode_order { TAILRACE_KY_KZ_KX = 0, TAILRACE_KZ_KY_KX = 1 };

typedef struct tailrace_transform_options {
  int type;                    /* TAILRACE_FLOAT64 (default) or FLOAT32 for real physical items,
                                  COMPLEX128 or COMPLEX64 for complex-to-complex transforms */
  int64_t cutoff[3];           /* largest |k| kept along z, y, x; -1 (default) keeps all */
  int grid[2];                 /* ranks along z and y of the physical array; {0, 0} chooses */
  int max_fields;              /* largest number of fields in one call; default 1 */
  const char* kernel;          /* 1D transform library: "auto" measures */
  const char* method;          /* exchange method: "auto" measures */
  const char* row_method;      /* method of the exchange in rows; "": `method` */
  int threads;                 /* OpenMP threads in this rank; default 1 */
  int chunks;                  /* pieces of an exchange that may overlap; 0 chooses */
  const tailrace_trace* trace; /* may be NULL */
  int mode_order;              /* default TAILRACE_KY_KZ_KX */
  double scale;                /* factor of modes in forward; default 1; 1 / points normalises */
} tailrace_transform_options;
tailrace_transform_options tailrace_transform_defaults(void);

typedef struct tailrace_transform tailrace_transform;

/* Creates a transform of `extents` (nz, ny, nx) points; `options` NULL: the defaults. Fails on all
   ranks alike: TAILRACE_INVALID_INPUT for extents below 1, a cut-off beyond n/2, a grid whose
   product is not the number of ranks, an unknown kernel or method, or options that differ between
   ranks. Collective, blocking. */
int tailrace_transform_create(const tailrace_comm* comm, const int64_t extents[3],
                              const tailrace_transform_options* options,
                              tailrace_transform** transform);
int tailrace_transform_destroy(tailrace_transform** transform);

/* Transforms `fields[f]` (physical, `num_items` items each) to `modes[f]` (spectral, complex,
   `num_modes` each) for each field: modes are the sum over points of u exp(-i k x), times `scale`.
   Sizes are checked. Inputs are kept; input and output must not overlap. Collective, blocking. */
int tailrace_transform_forward(tailrace_transform* transform, int num_fields,
                               const void* const* fields, int64_t num_items, void* const* modes,
                               int64_t num_modes);
/* The inverse: the sum over modes of u exp(+i k x). backward(forward(u)) is nx ny nz u if the scale
   is 1. Collective, blocking. */
int tailrace_transform_backward(tailrace_transform* transform, int num_fields,
                                const void* const* modes, int64_t num_modes, void* const* fields,
                                int64_t num_items);

/* Layout (a new handle) of the physical points, and this rank's box in it; the rank's array is
   dense. Local. */
int tailrace_transform_physical_layout(const tailrace_transform* transform,
                                       tailrace_layout** layout);
int tailrace_transform_physical_box(const tailrace_transform* transform, tailrace_box* box);
/* Layout of the kept modes in global order (kz, ky, kx), and the memory layout of this rank's array
   of them (new handles). Local. */
int tailrace_transform_spectral_layout(const tailrace_transform* transform,
                                       tailrace_layout** layout);
int tailrace_transform_spectral_memory(const tailrace_transform* transform,
                                       tailrace_memory** memory);
/* The signed wave numbers of this rank's modes along axis 0 (z), 1 (y) or 2 (x): `*count` numbers
   at `*k`, owned by the transform. The mode of the j-th ky, l-th kz, i-th kx is at (j * count of kz
   + l) * count of kx + i; with TAILRACE_KZ_KY_KX it is at (l * count of ky + j) * count of kx + i.
   Local. */
int tailrace_transform_modes(const tailrace_transform* transform, int axis, const int** k,
                             int64_t* count);
/* Number of items in this rank's physical array and of modes in its spectral array. Local. */
int tailrace_transform_sizes(const tailrace_transform* transform, int64_t* num_items,
                             int64_t* num_modes);
/* The chosen grid of ranks and the reason; kernel, methods, and a paragraph that describes them.
   Local. */
int tailrace_transform_grid(const tailrace_transform* transform, int grid[2]);
int tailrace_transform_grid_why(const tailrace_transform* transform, const char** text);
int tailrace_transform_kernel(const tailrace_transform* transform, const char** name);
int tailrace_transform_method(const tailrace_transform* transform, const char** text);
int tailrace_transform_describe(const tailrace_transform* transform, const char** text);
int tailrace_transform_buffer_bytes(const tailrace_transform* transform, int64_t* num_bytes);

#ifdef __cplusplus
}
#endif
#endif
