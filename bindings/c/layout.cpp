// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/c/layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "objects.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace::c {

tailrace_box to_c(const Box& box) {
  tailrace_box given{};
  given.num_dims = box.num_dims;
  std::ranges::copy(box.start, given.start);
  std::ranges::copy(box.extents, given.extents);
  return given;
}

Box from_c(const tailrace_box& given) {
  if (given.num_dims < 1 || given.num_dims > max_dims) {
    throw Error(Errc::invalid_input,
                fmt::format("a box has {} axes, it must have 1 to {}", given.num_dims, max_dims));
  }
  Box box;
  box.num_dims = given.num_dims;
  const auto dims = static_cast<std::size_t>(given.num_dims);
  for (std::size_t d = 0; d < dims; ++d) {
    box.start[d] = given.start[d];
    box.extents[d] = given.extents[d];
    constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max();
    if (box.start[d] < 0 || box.extents[d] < 0 || box.extents[d] > most - box.start[d]) {
      throw Error(Errc::invalid_input,
                  fmt::format("a box has start {} and extent {} along axis {}: they must not be "
                              "negative, and their sum at most {}",
                              box.start[d] + first_number(), box.extents[d],
                              axis_number(static_cast<std::ptrdiff_t>(d), dims), most));
    }
  }
  if (box.num_items() == std::numeric_limits<std::ptrdiff_t>::max()) {
    throw Error(Errc::invalid_input, fmt::format("a box {} has too many items", box.describe()));
  }
  return box;
}

namespace {

/// Extents of a layout. Throws for numbers of axes that there are not.
std::vector<std::ptrdiff_t> extents_of(int num_dims, const int64_t* extents) {
  if (num_dims < 1 || num_dims > max_dims) {
    throw Error(Errc::invalid_input,
                fmt::format("num_dims = {}: there are 1 to {} axes, and each list has an entry for "
                            "each of them",
                            num_dims, max_dims));
  }
  return sizes(extents, num_dims, "extents");
}

Made<tailrace_layout> made_of(Layout layout) { return std::make_shared<Layout>(std::move(layout)); }

int checked_rank(const Layout& layout, int rank) {
  if (rank < 0 || rank >= layout.num_ranks()) {
    throw Error(Errc::invalid_input, fmt::format("rank {} is not one of the {} of the layout", rank,
                                                 layout.num_ranks()));
  }
  return rank;
}

std::vector<Box> boxes_of(std::span<const tailrace_box> given) {
  std::vector<Box> boxes;
  std::ranges::transform(given, std::back_inserter(boxes), from_c);
  return boxes;
}

Made<tailrace_layout> layout_blocks_ordered(int num_dims, const int64_t* extents, const int* grid,
                                            const int* order) {
  const auto whole = extents_of(num_dims, extents);
  return made_of(blocks(whole, list(grid, num_dims, "grid"),
                        list(order, order != nullptr ? num_dims : 0, "order")));
}

Made<tailrace_layout> layout_blocks(int num_dims, const int64_t* extents, const int* grid) {
  return layout_blocks_ordered(num_dims, extents, grid, nullptr);
}

Made<tailrace_layout> layout_pencils_ordered(const int64_t extents[3], int axis, const int grid[2],
                                             const int* order) {
  return made_of(pencils(extents_of(3, extents), axis, list(grid, 2, "grid"),
                         list(order, order != nullptr ? 2 : 0, "order")));
}

Made<tailrace_layout> layout_pencils(const int64_t extents[3], int axis, const int grid[2]) {
  return layout_pencils_ordered(extents, axis, grid, nullptr);
}

Made<tailrace_layout> layout_cart_blocks(Ref<tailrace_comm> ranks, int num_dims,
                                         const int64_t* extents, int num_axes, const int* axes) {
  return made_of(cart_blocks(*ranks, extents_of(num_dims, extents), list(axes, num_axes, "axes")));
}

Made<tailrace_layout> layout_slabs(int num_dims, const int64_t* extents, int axis, int num_ranks) {
  return made_of(slabs(extents_of(num_dims, extents), axis, num_ranks));
}

Made<tailrace_layout> layout_file_domains(int num_dims, const int64_t* extents, int64_t item_bytes,
                                          int num_writers, const int* writers, int num_ranks,
                                          int64_t stripe_bytes, int64_t file_offset) {
  return made_of(file_domains(extents_of(num_dims, extents), item_bytes,
                              list(writers, num_writers, "writers"), num_ranks, stripe_bytes,
                              file_offset));
}

Made<tailrace_layout> layout_cyclic_domains(int num_dims, const int64_t* extents,
                                            int64_t item_bytes, int num_writers, const int* writers,
                                            int num_ranks, int64_t stripe_bytes,
                                            int64_t file_offset) {
  return made_of(cyclic_domains(extents_of(num_dims, extents), item_bytes,
                                list(writers, num_writers, "writers"), num_ranks, stripe_bytes,
                                file_offset));
}

Made<tailrace_layout> layout_triangle(int64_t n, int num_ranks) {
  return made_of(triangle(n, num_ranks));
}

Made<tailrace_layout> layout_from_boxes(int num_dims, const int64_t* extents, int num_ranks,
                                        const int64_t* num_boxes, const tailrace_box* boxes) {
  std::vector<std::vector<Box>> of_ranks;
  const auto* next = boxes;
  for (const auto count : list(num_boxes, num_ranks, "num_boxes")) {
    of_ranks.push_back(boxes_of(list(next, count, "boxes")));
    if (count > 0) next += count;
  }
  return made_of(from_boxes(extents_of(num_dims, extents), std::move(of_ranks)));
}

void layout_from_own_boxes(Ref<tailrace_comm> ranks, int num_dims, const int64_t* extents,
                           int64_t num_boxes, const tailrace_box* boxes, tailrace_layout** layout) {
  std::vector<std::ptrdiff_t> whole;
  std::vector<Box> own;
  prepare_together(*ranks, [&] {
    require_address(layout, "layout");
    whole = extents_of(num_dims, extents);
    own = boxes_of(list(boxes, num_boxes, "boxes"));
  });
  put(layout, made_of(own_boxes(*ranks, whole, own)));
}

void layout_own_box(Ref<tailrace_comm> ranks, int num_dims, const int64_t* extents,
                    const int64_t* start, const int64_t* count, tailrace_layout** layout) {
  std::vector<std::ptrdiff_t> whole, first, items;
  prepare_together(*ranks, [&] {
    require_address(layout, "layout");
    whole = extents_of(num_dims, extents);
    first = sizes(start, num_dims, "start");
    items = sizes(count, num_dims, "count");
  });
  put(layout, made_of(own_box(*ranks, whole, first, items)));
}

int layout_num_dims(Ref<tailrace_layout> layout) { return layout->num_dims(); }

void layout_extents(Ref<tailrace_layout> whole, int64_t extents[TAILRACE_MAX_DIMS]) {
  std::copy_n(whole->global_extents().begin(), whole->num_dims(), extents);
}

int layout_num_ranks(Ref<tailrace_layout> layout) { return layout->num_ranks(); }

int64_t layout_num_boxes(Ref<tailrace_layout> whole, int rank) {
  return std::ssize(whole->boxes(checked_rank(*whole, rank)));
}

tailrace_box layout_box(Ref<tailrace_layout> whole, int rank, int64_t index) {
  const auto boxes = whole->boxes(checked_rank(*whole, rank));
  if (index < 0 || index >= std::ssize(boxes)) {
    throw Error(Errc::invalid_input,
                fmt::format("rank {} has {} boxes; there is no box {}", rank, boxes.size(), index));
  }
  return to_c(boxes[static_cast<std::size_t>(index)]);
}

int64_t layout_num_items(Ref<tailrace_layout> whole, int rank) {
  return whole->num_items(checked_rank(*whole, rank));
}

std::string layout_describe(Ref<tailrace_layout> layout) { return layout->describe(); }

Made<tailrace_memory> memory_dense(Ref<tailrace_layout> whole, int rank) {
  const auto boxes = whole->boxes(checked_rank(*whole, rank));
  return std::make_shared<Memory>(Memory::dense(boxes));
}

Made<tailrace_memory> memory_ordered(const tailrace_box* box, const int* order,
                                     const int64_t* halo) {
  require_address(box, "box");
  const Box one = from_c(*box);
  std::array<int, max_dims> natural{};
  std::iota(natural.begin(), natural.end(), 0);
  const auto axes = list(order != nullptr ? order : natural.data(), one.num_dims, "order");
  std::vector<std::ptrdiff_t> cells;
  if (halo != nullptr) cells = sizes(halo, one.num_dims, "halo");
  return std::make_shared<Memory>(Memory::ordered(one, axes, cells));
}

Made<tailrace_memory> memory_strided(int64_t num_boxes, int num_dims, const int64_t* offsets,
                                     const int64_t* strides, int64_t num_items) {
  require(num_dims >= 1 && num_dims <= max_dims, "num_dims must be 1 to 5");
  require(num_items >= 0, "num_items must not be negative");
  require(num_boxes <= std::numeric_limits<std::int64_t>::max() / max_dims,
          "num_boxes is too large");
  const auto starts = list(offsets, num_boxes, "offsets");
  const auto steps = list(strides, num_boxes * num_dims, "strides");
  Memory made;
  made.num_items = num_items;
  for (std::size_t b = 0; b < starts.size(); ++b) {
    BoxMemory one;
    one.offset = starts[b];
    const auto dims = static_cast<std::size_t>(num_dims);
    std::ranges::copy(steps.subspan(b * dims, dims), one.strides.begin());
    made.boxes.push_back(one);
  }
  return std::make_shared<Memory>(std::move(made));
}

int64_t memory_num_items(Ref<tailrace_memory> memory) { return memory->num_items; }

}  // namespace

}  // namespace tailrace::c

#include "calls/layout.inc"
