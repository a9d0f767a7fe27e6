/* SPDX-License-Identifier: BSD-3-Clause */
/* Which boxes of a global index space each rank holds, and how they lie in its memory. All calls
   are local unless they say otherwise. See tailrace.h for the rules of all calls. */
#ifndef TAILRACE_C_LAYOUT_H
#define TAILRACE_C_LAYOUT_H

#include <stdint.h>

#include "tailrace/c/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAILRACE_MAX_DIMS 5

/* Lower corner and extents, in items; the first `num_dims` entries count. */
typedef struct tailrace_box {
  int num_dims;
  int64_t start[TAILRACE_MAX_DIMS];
  int64_t extents[TAILRACE_MAX_DIMS];
} tailrace_box;

typedef struct tailrace_layout tailrace_layout;

/* Each call that makes a layout returns TAILRACE_INVALID_INPUT for more than 2^56 items. */
/* Blocks: `grid[d]` parts along axis d, rank numbers row-major in the grid; the product of `grid`
   is the number of ranks. */
int tailrace_layout_blocks(int num_dims, const int64_t* extents, const int* grid,
                           tailrace_layout** layout);
/* Three axes, whole along `axis`, `grid[0]` x `grid[1]` parts along the two others in order. */
int tailrace_layout_pencils(const int64_t extents[3], int axis, const int grid[2],
                            tailrace_layout** layout);
/* The same with ranks numbered in another order: `order` lists the entries of `grid`, that along
   which ranks are numbered slowest first. NULL: 0, 1, ..., row-major, as MPI_Cart_create does. */
int tailrace_layout_blocks_ordered(int num_dims, const int64_t* extents, const int* grid,
                                   const int* order, tailrace_layout** layout);
int tailrace_layout_pencils_ordered(const int64_t extents[3], int axis, const int grid[2],
                                    const int* order, tailrace_layout** layout);
/* Blocks on the grid of ranks that the communicator behind `comm` has from MPI_Cart_create: each
   rank holds the block at its coordinates. Dimension d of the grid divides axis `axes[d]` of the
   array; with 0 and NULL, axis d. Axes that are not listed are whole on each rank. */
int tailrace_layout_cart_blocks(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                                int num_axes, const int* axes, tailrace_layout** layout);
/* `num_ranks` parts along `axis`, whole along the others. */
int tailrace_layout_slabs(int num_dims, const int64_t* extents, int axis, int num_ranks,
                          tailrace_layout** layout);
/* Contiguous runs of a file whose data starts at byte `file_offset`, one for each of `writers`
   (ascending ranks), ending at multiples of `stripe_bytes` (0: equal shares). */
int tailrace_layout_file_domains(int num_dims, const int64_t* extents, int64_t item_bytes,
                                 int num_writers, const int* writers, int num_ranks,
                                 int64_t stripe_bytes, int64_t file_offset,
                                 tailrace_layout** layout);
/* The same with stripe s for writer s modulo `num_writers`; `stripe_bytes` > 0. */
int tailrace_layout_cyclic_domains(int num_dims, const int64_t* extents, int64_t item_bytes,
                                   int num_writers, const int* writers, int num_ranks,
                                   int64_t stripe_bytes, int64_t file_offset,
                                   tailrace_layout** layout);
/* The upper triangle (row <= column) of an `n` x `n` grid in square blocks, distributed such that
   all ranks have about as many of its items. Blocks on the diagonal are whole; ranks beyond the
   blocks hold nothing. */
int tailrace_layout_triangle(int64_t n, int num_ranks, tailrace_layout** layout);
/* Any boxes of all ranks: `num_boxes[r]` of them are rank r's; `boxes` lists those of rank 0, then
   those of rank 1, and so on. Boxes must lie inside `extents`. They may overlap in what is read, or
   moved to; what is written, or moved from, must have one rank (TAILRACE_INVALID_INPUT on all). */
int tailrace_layout_from_boxes(int num_dims, const int64_t* extents, int num_ranks,
                               const int64_t* num_boxes, const tailrace_box* boxes,
                               tailrace_layout** layout);
/* A program's own decomposition: each rank gives the part that it holds, by the index of its first
   item and its number of items along each axis. A count of 0: the rank holds nothing. Parts may
   leave gaps, and overlap as in tailrace_layout_from_boxes. A halo is not counted: it belongs to
   the memory. Collective over `comm`, blocking; errors are on all ranks. */
int tailrace_layout_own_box(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                            const int64_t* start, const int64_t* count, tailrace_layout** layout);
/* The same where each rank gives several boxes, or none. Collective over `comm`, blocking. */
int tailrace_layout_from_own_boxes(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                                   int64_t num_boxes, const tailrace_box* boxes,
                                   tailrace_layout** layout);
int tailrace_layout_destroy(tailrace_layout** layout);

int tailrace_layout_num_dims(const tailrace_layout* layout, int* num_dims);
/* Fills the first `num_dims` of `extents`. */
int tailrace_layout_extents(const tailrace_layout* layout, int64_t extents[TAILRACE_MAX_DIMS]);
int tailrace_layout_num_ranks(const tailrace_layout* layout, int* num_ranks);
/* Boxes of `rank`, none of them empty, and box number `index` (from 0) of them. */
int tailrace_layout_num_boxes(const tailrace_layout* layout, int rank, int64_t* num_boxes);
int tailrace_layout_box(const tailrace_layout* layout, int rank, int64_t index, tailrace_box* box);
/* Items that `rank` holds: the size of its array, where that is dense. */
int tailrace_layout_num_items(const tailrace_layout* layout, int rank, int64_t* num_items);
int tailrace_layout_describe(const tailrace_layout* layout, const char** text);

/* How a rank's boxes lie in its array. Where a call takes a memory, NULL means dense: the boxes one
   after another, each row-major without gaps. */
typedef struct tailrace_memory tailrace_memory;

/* The dense one of `rank`. */
int tailrace_memory_dense(const tailrace_layout* layout, int rank, tailrace_memory** memory);
/* One box, its axes stored in `order` (slowest first; NULL: as they are), with `halo[d]` extra
   items on both sides of axis d (NULL: none), also more than the box has. */
int tailrace_memory_ordered(const tailrace_box* box, const int* order, const int64_t* halo,
                            tailrace_memory** memory);
/* `num_boxes` boxes of `num_dims` axes: item (i0, i1, ...) of box b is at `offsets[b] + i0 *
   strides[b * num_dims] + i1 * strides[b * num_dims + 1] + ...`, in an array of `num_items` items.
   Whether all items lie in the array is checked by the calls that take the memory. */
int tailrace_memory_strided(int64_t num_boxes, int num_dims, const int64_t* offsets,
                            const int64_t* strides, int64_t num_items, tailrace_memory** memory);
/* Items of the whole array, halo included. */
int tailrace_memory_num_items(const tailrace_memory* memory, int64_t* num_items);
int tailrace_memory_destroy(tailrace_memory** memory);

#ifdef __cplusplus
}
#endif
#endif
