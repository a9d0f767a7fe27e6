/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static int64_t items_of_all(const tailrace_layout* layout) {
  int64_t sum = 0;
  for (int r = 0; r < all_ranks; ++r) {
    int64_t mine = 0;
    OK(tailrace_layout_num_items(layout, r, &mine));
    sum += mine;
  }
  return sum;
}

/* Blocks at the coordinates of MPI_Cart_create; on 2 x 2 ranks all have one size. */
static void test_cart(void) {
  const int is_square = all_ranks == 4, periods[2] = {0, 0}, backwards[2] = {1, 0};
  const int grid[2] = {is_square ? 2 : all_ranks, is_square ? 2 : 1},
            turned[2] = {grid[1], grid[0]};
  MPI_Comm cart = MPI_COMM_NULL;
  tailrace_comm* comm = NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, grid, periods, 0, &cart);
  OK(tailrace_comm_create(cart, &comm));
  const int64_t extents[2] = {2 * grid[0], 2 * grid[1]};
  const int64_t cube[3] = {2 * grid[1], 5, 2 * grid[0]};
  tailrace_layout *layout = NULL, *pencils = NULL, *numbered = NULL;
  OK(tailrace_layout_cart_blocks(comm, 2, extents, 0, NULL, &layout));
  OK(tailrace_layout_cart_blocks(comm, 3, cube, 2, (int[]){2, 0}, &pencils));
  OK(tailrace_layout_pencils_ordered(cube, 1, turned, backwards, &numbered));
  for (int r = 0; r < all_ranks; ++r) {
    int at[2] = {0};
    tailrace_box box, same;
    MPI_Cart_coords(cart, r, 2, at);
    OK(tailrace_layout_box(layout, r, 0, &box));
    CHECK(box.start[0] == 2 * at[0] && box.start[1] == 2 * at[1] && box.extents[1] == 2);
    OK(tailrace_layout_box(pencils, r, 0, &box));
    CHECK(box.start[0] == 2 * at[1] && box.start[1] == 0 && box.start[2] == 2 * at[0]);
    OK(tailrace_layout_box(numbered, r, 0, &same));
    CHECK(memcmp(same.start, box.start, sizeof box.start) == 0);
  }
  OK(tailrace_layout_destroy(&numbered));
  OK(tailrace_layout_blocks_ordered(2, extents, grid, NULL, &numbered));
  tailrace_box box, same;
  OK(tailrace_layout_box(layout, all_ranks / 2, 0, &box));
  OK(tailrace_layout_box(numbered, all_ranks / 2, 0, &same));
  CHECK(memcmp(same.start, box.start, sizeof box.start) == 0);
  OK(tailrace_layout_destroy(&layout));
  OK(tailrace_layout_destroy(&pencils));
  OK(tailrace_layout_destroy(&numbered));
  REFUSED(tailrace_layout_cart_blocks(comm, 3, cube, 0, NULL, &layout), TAILRACE_INVALID_INPUT,
          "cart_blocks: axes");
  REFUSED(tailrace_layout_blocks_ordered(2, extents, grid, (int[]){0, 0}, &layout),
          TAILRACE_INVALID_INPUT, "order");
  OK(tailrace_comm_destroy(&comm));
  MPI_Comm_free(&cart);
}

void test_layout(const tailrace_comm* comm) {
  const int64_t extents[3] = {7, 8, 9};
  tailrace_layout* layout = NULL;
  OK(tailrace_layout_slabs(3, extents, 0, all_ranks, &layout));
  tailrace_box box;
  OK(tailrace_layout_box(layout, all_ranks - 1, 0, &box));
  CHECK(box.num_dims == 3 && box.start[0] + box.extents[0] == 7 && box.extents[2] == 9);
  REFUSED(tailrace_layout_box(layout, all_ranks, 0, &box), TAILRACE_INVALID_INPUT, "rank");
  REFUSED(tailrace_layout_box(layout, 0, 1, &box), TAILRACE_INVALID_INPUT, "there is no box 1");
  int num_dims = 0, num_ranks = 0;
  OK(tailrace_layout_num_dims(layout, &num_dims));
  OK(tailrace_layout_num_ranks(layout, &num_ranks));
  CHECK(num_dims == 3 && num_ranks == all_ranks);
  int64_t found[TAILRACE_MAX_DIMS] = {0};
  OK(tailrace_layout_extents(layout, found));
  CHECK(memcmp(found, extents, sizeof extents) == 0);
  CHECK(items_of_all(layout) == 7 * 8 * 9);
  const char* text = NULL;
  OK(tailrace_layout_describe(layout, &text));
  CHECK(strlen(text) > 0);
  OK(tailrace_layout_destroy(&layout));

  OK(tailrace_layout_blocks(3, extents, (int[]){1, all_ranks, 1}, &layout));
  CHECK(items_of_all(layout) == 7 * 8 * 9);
  OK(tailrace_layout_destroy(&layout));
  OK(tailrace_layout_pencils(extents, 2, (int[]){all_ranks, 1}, &layout));
  CHECK(items_of_all(layout) == 7 * 8 * 9);
  OK(tailrace_layout_destroy(&layout));
  OK(tailrace_layout_file_domains(3, extents, 8, 1, (int[]){0}, all_ranks, 0, 0, &layout));
  CHECK(items_of_all(layout) == 7 * 8 * 9);
  OK(tailrace_layout_destroy(&layout));
  OK(tailrace_layout_cyclic_domains(3, extents, 8, 1, (int[]){0}, all_ranks, 64, 0, &layout));
  CHECK(items_of_all(layout) == 7 * 8 * 9);
  OK(tailrace_layout_destroy(&layout));

  OK(tailrace_layout_triangle(9, all_ranks, &layout));
  OK(tailrace_layout_num_dims(layout, &num_dims));
  CHECK(num_dims == 2 && items_of_all(layout) >= 9 * 10 / 2 && items_of_all(layout) <= 9 * 9);
  OK(tailrace_layout_destroy(&layout));
  REFUSED(tailrace_layout_triangle(0, all_ranks, &layout), TAILRACE_INVALID_INPUT, "0");

  REFUSED(tailrace_layout_slabs(3, NULL, 0, all_ranks, &layout), TAILRACE_INVALID_INPUT,
          "extents is NULL");
  REFUSED(tailrace_layout_slabs(6, extents, 0, all_ranks, &layout), TAILRACE_INVALID_INPUT,
          "num_dims = 6");
  REFUSED(tailrace_layout_slabs(3, extents, 5, all_ranks, &layout), TAILRACE_INVALID_INPUT, "5");
  REFUSED(tailrace_layout_slabs(3, extents, 0, all_ranks, NULL), TAILRACE_INVALID_INPUT, "NULL");
  const int64_t huge[3] = {1LL << 40, 1LL << 40, 1LL << 40};
  REFUSED(tailrace_layout_slabs(3, huge, 0, all_ranks, &layout), TAILRACE_INVALID_INPUT, "items");
  const tailrace_box far = {3, {0}, {1LL << 40, 1LL << 40, 1LL << 40}};
  tailrace_memory* of_far = NULL;
  REFUSED(tailrace_memory_ordered(&far, NULL, NULL, &of_far), TAILRACE_INVALID_INPUT, "items");
  REFUSED(tailrace_memory_strided(INT64_MAX, 2, huge, huge, 1, &of_far), TAILRACE_INVALID_INPUT,
          "num_boxes");
  CHECK(layout == NULL);

  /* Own boxes: every rank gives a row of its own, rank 0 a second one. */
  const tailrace_box rows[2] = {{2, {this_rank, 0}, {1, 5}}, {2, {all_ranks, 0}, {1, 5}}};
  const int64_t plane[2] = {all_ranks + 1, 5};
  OK(tailrace_layout_from_own_boxes(comm, 2, plane, this_rank == 0 ? 2 : 1, rows, &layout));
  CHECK(items_of_all(layout) == 5 * (all_ranks + 1));
  int64_t num_boxes = 0;
  OK(tailrace_layout_num_boxes(layout, 0, &num_boxes));
  CHECK(num_boxes == 2);
  OK(tailrace_layout_box(layout, all_ranks - 1, 0, &box));
  CHECK(box.start[0] == all_ranks - 1 && box.extents[1] == 5);
  OK(tailrace_layout_destroy(&layout));
  const int64_t first[2] = {this_rank, 0}, one_row[2] = {1, 5}, none[2] = {0, 5};
  OK(tailrace_layout_own_box(comm, 2, plane, first, this_rank == 0 ? none : one_row, &layout));
  CHECK(items_of_all(layout) == 5 * (all_ranks - 1));
  OK(tailrace_layout_destroy(&layout));
  const int64_t long_row[2] = {1, this_rank == all_ranks - 1 ? 6 : 5};
  REFUSED(tailrace_layout_own_box(comm, 2, plane, first, long_row, &layout), TAILRACE_INVALID_INPUT,
          "is not inside");
  /* A box that leaves the array, of one rank: refused on all. */
  tailrace_box wide = rows[0];
  if (this_rank == all_ranks - 1) wide.extents[1] = 6;
  REFUSED(tailrace_layout_from_own_boxes(comm, 2, plane, 1, &wide, &layout), TAILRACE_INVALID_INPUT,
          "");
  if (this_rank == all_ranks - 1) wide.num_dims = 9;
  wide.extents[1] = 5;
  REFUSED(tailrace_layout_from_own_boxes(comm, 2, plane, 1, &wide, &layout), TAILRACE_INVALID_INPUT,
          "a box has 9 axes");
  CHECK(tailrace_error_rank() == all_ranks - 1);

  test_cart();

  tailrace_memory* memory = NULL;
  int64_t num_items = 0;
  const tailrace_box block = {3, {0, 0, 0}, {2, 3, 4}};
  OK(tailrace_memory_ordered(&block, NULL, (int64_t[]){1, 0, 2}, &memory));
  OK(tailrace_memory_num_items(memory, &num_items));
  CHECK(num_items == 4 * 3 * 8);
  OK(tailrace_memory_destroy(&memory));
  REFUSED(tailrace_memory_ordered(&block, (int[]){0, 0, 2}, NULL, &memory), TAILRACE_INVALID_INPUT,
          "order");
  OK(tailrace_memory_strided(1, 3, (int64_t[]){0}, (int64_t[]){12, 4, 1}, 24, &memory));
  OK(tailrace_memory_destroy(&memory));
  REFUSED(tailrace_memory_strided(1, 3, NULL, (int64_t[]){12, 4, 1}, 24, &memory),
          TAILRACE_INVALID_INPUT, "offsets is NULL");
}
