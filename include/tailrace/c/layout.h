/* SPDX-License-Identifier: BSD-3-Clause */
/* The boxes of a global index space that each rank holds, and their layout in its memory. All calls
   are local unless they say otherwise. See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_LAYOUT_H
#define TAILRACE_C_LAYOUT_H

#include <stdint.h>

#include "tailrace/c/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAILRACE_MAX_DIMS 5

/* Lower corner and extents, in items; only the first `num_dims` entries are used. */
typedef struct tailrace_box {
  int num_dims;
  int64_t start[TAILRACE_MAX_DIMS];
  int64_t extents[TAILRACE_MAX_DIMS];
} tailrace_box;

typedef struct tailrace_layout tailrace_layout;

/* Each call that creates a layout returns TAILRACE_INVALID_INPUT for more than 2^56 items. */
/* Blocks: `grid[d]` parts along axis d, rank numbers row-major in the grid; the product of `grid`
   is the number of ranks. */
int tailrace_layout_blocks(int num_dims, const int64_t* extents, const int* grid,
                           tailrace_layout** layout);
/* Pencils of a 3D array: undivided along `axis`, `grid[0]` x `grid[1]` parts along the two other
   axes in order. */
int tailrace_layout_pencils(const int64_t extents[3], int axis, const int grid[2],
                            tailrace_layout** layout);
/* Blocks and pencils with another rank numbering: `order` lists the axes of `grid` from the slowest
   to the fastest. NULL: 0, 1, ..., row-major as in MPI_Cart_create. */
int tailrace_layout_blocks_ordered(int num_dims, const int64_t* extents, const int* grid,
                                   const int* order, tailrace_layout** layout);
int tailrace_layout_pencils_ordered(const int64_t extents[3], int axis, const int grid[2],
                                    const int* order, tailrace_layout** layout);
/* Blocks on the grid of ranks that the communicator behind `comm` has from MPI_Cart_create: each
   rank holds the block at its coordinates. Dimension d of the grid divides axis `axes[d]` of the
   array; with 0 and NULL, axis d. Axes that are not listed are undivided. */
int tailrace_layout_cart_blocks(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                                int num_axes, const int* axes, tailrace_layout** layout);
/* Slabs: `num_ranks` parts along `axis`, undivided along the others. */
int tailrace_layout_slabs(int num_dims, const int64_t* extents, int axis, int num_ranks,
                          tailrace_layout** layout);
/* Contiguous runs of a file whose data starts at byte `file_offset`, one for each of `writers`
   (ascending ranks), ending at multiples of `stripe_bytes` (0: equal shares). */
int tailrace_layout_file_domains(int num_dims, const int64_t* extents, int64_t item_bytes,
                                 int num_writers, const int* writers, int num_ranks,
                                 int64_t stripe_bytes, int64_t file_offset,
                                 tailrace_layout** layout);
/* Like `tailrace_layout_file_domains`, but writer s modulo `num_writers` has stripe s;
   `stripe_bytes` > 0. */
int tailrace_layout_cyclic_domains(int num_dims, const int64_t* extents, int64_t item_bytes,
                                   int num_writers, const int* writers, int num_ranks,
                                   int64_t stripe_bytes, int64_t file_offset,
                                   tailrace_layout** layout);
/* The upper triangle (row <= column) of an `n` x `n` grid in square blocks, distributed so that all
   ranks have about the same number of its items. Blocks on the diagonal are full squares. If there
   are more ranks than blocks, the last ranks hold nothing. */
int tailrace_layout_triangle(int64_t n, int num_ranks, tailrace_layout** layout);
/* Any boxes: rank r has `num_boxes[r]`; `boxes` lists those of rank 0, then those of rank 1, and so
   on. Boxes must lie inside `extents`. They may overlap if data is read into them or moved to them;
   an item that is written, or moved from, must be on one rank (otherwise TAILRACE_INVALID_INPUT on
   all ranks). */
int tailrace_layout_from_boxes(int num_dims, const int64_t* extents, int num_ranks,
                               const int64_t* num_boxes, const tailrace_box* boxes,
                               tailrace_layout** layout);
/* A custom decomposition: each rank gives the part that it holds, by the index of its first item
   and its number of items along each axis. A rank with a count of 0 holds nothing. Parts may leave
   gaps, and may overlap as in tailrace_layout_from_boxes. A halo is not counted: it belongs to the
   memory. Fails on all ranks alike. Collective over `comm`, blocking. */
int tailrace_layout_own_box(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                            const int64_t* start, const int64_t* count, tailrace_layout** layout);
/* Like `tailrace_layout_own_box`, for ranks that give several boxes, or none. Collective over
   `comm`, blocking. */
int tailrace_layout_from_own_boxes(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                                   int64_t num_boxes, const tailrace_box* boxes,
                                   tailrace_layout** layout);
int tailrace_layout_destroy(tailrace_layout** layout);

int tailrace_layout_num_dims(const tailrace_layout* layout, int* num_dims);
/* Fills the first `num_dims` of `extents`. */
int tailrace_layout_extents(const tailrace_layout* layout, int64_t extents[TAILRACE_MAX_DIMS]);
int tailrace_layout_num_ranks(const tailrace_layout* layout, int* num_ranks);
/* Number of boxes of `rank`, and its box number `index` (from 0). No box is empty. */
int tailrace_layout_num_boxes(const tailrace_layout* layout, int rank, int64_t* num_boxes);
int tailrace_layout_box(const tailrace_layout* layout, int rank, int64_t index, tailrace_box* box);
/* Number of items of `rank`, which is the size of its array if the array is dense. */
int tailrace_layout_num_items(const tailrace_layout* layout, int rank, int64_t* num_items);
int tailrace_layout_describe(const tailrace_layout* layout, const char** text);

/* The layout of a rank's boxes in its array. NULL means dense: the boxes one after another, each
   row-major without gaps. */
typedef struct tailrace_memory tailrace_memory;

/* The dense memory of `rank`. */
int tailrace_memory_dense(const tailrace_layout* layout, int rank, tailrace_memory** memory);
/* One box, its axes stored in `order` (slowest first; NULL: not permuted), with `halo[d]` extra
   items on both sides of axis d (NULL: none), which may exceed the extent of the box. */
int tailrace_memory_ordered(const tailrace_box* box, const int* order, const int64_t* halo,
                            tailrace_memory** memory);
/* `num_boxes` boxes of `num_dims` axes: item (i0, i1, ...) of box b is at `offsets[b] + i0 *
   strides[b * num_dims] + i1 * strides[b * num_dims + 1] + ...`, in an array of `num_items` items.
   Calls that use the memory check that all items lie in the array. */
int tailrace_memory_strided(int64_t num_boxes, int num_dims, const int64_t* offsets,
                            const int64_t* strides, int64_t num_items, tailrace_memory** memory);
/* Number of items of the array, including the halo. */
int tailrace_memory_num_items(const tailrace_memory* memory, int64_t* num_items);
int tailrace_memory_destroy(tailrace_memory** memory);

#ifdef __cplusplus
}
#endif
#endif
