// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/c/layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "objects.hpp"

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
                              box.start[d], box.extents[d], d, most));
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
                fmt::format("num_dims = {} must be 1 to {}", num_dims, max_dims));
  }
  return sizes(extents, num_dims, "extents");
}

void put_layout(tailrace_layout** layout, Layout made) {
  put(layout, std::make_shared<Layout>(std::move(made)));
}

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

/// Sends the boxes of all ranks to all. Collective, blocking.
std::vector<std::vector<Box>> gather_boxes(const Comm& comm, const std::vector<Box>& own) {
  constexpr std::size_t numbers = 1 + 2 * max_dims;
  std::vector<std::int64_t> sent;
  for (const auto& box : own) {
    sent.push_back(box.num_dims);
    sent.insert(sent.end(), box.start.begin(), box.start.end());
    sent.insert(sent.end(), box.extents.begin(), box.extents.end());
  }
  const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
  std::vector<int> counts(num_ranks), places(num_ranks);
  const int count = to_int(std::ssize(sent));
  check_mpi(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm.raw()));
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  to_int(total);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  std::vector<std::int64_t> all(static_cast<std::size_t>(total));
  check_mpi(MPI_Allgatherv(sent.data(), count, MPI_INT64_T, all.data(), counts.data(),
                           places.data(), MPI_INT64_T, comm.raw()));
  std::vector<std::vector<Box>> boxes(num_ranks);
  const auto* next = all.data();
  for (std::size_t r = 0; r < num_ranks; ++r) {
    for (int n = 0; n < counts[r]; n += static_cast<int>(numbers), next += numbers) {
      Box box;
      box.num_dims = static_cast<int>(next[0]);
      std::copy_n(next + 1, max_dims, box.start.begin());
      std::copy_n(next + 1 + max_dims, max_dims, box.extents.begin());
      boxes[r].push_back(box);
    }
  }
  return boxes;
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

int tailrace_layout_blocks(int num_dims, const int64_t* extents, const int* grid,
                           tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    put_layout(layout, blocks(extents_of(num_dims, extents), list(grid, num_dims, "grid")));
  });
}

int tailrace_layout_pencils(const int64_t extents[3], int axis, const int grid[2],
                            tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    put_layout(layout, pencils(extents_of(3, extents), axis, list(grid, 2, "grid")));
  });
}

int tailrace_layout_slabs(int num_dims, const int64_t* extents, int axis, int num_ranks,
                          tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    put_layout(layout, slabs(extents_of(num_dims, extents), axis, num_ranks));
  });
}

int tailrace_layout_file_domains(int num_dims, const int64_t* extents, int64_t item_bytes,
                                 int num_writers, const int* writers, int num_ranks,
                                 int64_t stripe_bytes, int64_t file_offset,
                                 tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    put_layout(layout, file_domains(extents_of(num_dims, extents), item_bytes,
                                    list(writers, num_writers, "writers"), num_ranks, stripe_bytes,
                                    file_offset));
  });
}

int tailrace_layout_cyclic_domains(int num_dims, const int64_t* extents, int64_t item_bytes,
                                   int num_writers, const int* writers, int num_ranks,
                                   int64_t stripe_bytes, int64_t file_offset,
                                   tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    put_layout(layout, cyclic_domains(extents_of(num_dims, extents), item_bytes,
                                      list(writers, num_writers, "writers"), num_ranks,
                                      stripe_bytes, file_offset));
  });
}

int tailrace_layout_triangle(int64_t n, int num_ranks, tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    put_layout(layout, triangle(n, num_ranks));
  });
}

int tailrace_layout_from_boxes(int num_dims, const int64_t* extents, int num_ranks,
                               const int64_t* num_boxes, const tailrace_box* boxes,
                               tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    std::vector<std::vector<Box>> of_ranks;
    const auto* next = boxes;
    for (const auto count : list(num_boxes, num_ranks, "num_boxes")) {
      of_ranks.push_back(boxes_of(list(next, count, "boxes")));
      if (count > 0) next += count;
    }
    put_layout(layout, from_boxes(extents_of(num_dims, extents), std::move(of_ranks)));
  });
}

int tailrace_layout_from_own_boxes(const tailrace_comm* comm, int num_dims, const int64_t* extents,
                                   int64_t num_boxes, const tailrace_box* boxes,
                                   tailrace_layout** layout) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    std::vector<std::ptrdiff_t> whole;
    std::vector<Box> own;
    prepare_together(*ranks, [&] {
      require_address(layout, "layout");
      whole = extents_of(num_dims, extents);
      own = boxes_of(list(boxes, num_boxes, "boxes"));
    });
    auto of_ranks = gather_boxes(*ranks, own);
    prepare_together(*ranks, [&] { put_layout(layout, from_boxes(whole, std::move(of_ranks))); });
  });
}

int tailrace_layout_destroy(tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    end(layout);
  });
}

int tailrace_layout_num_dims(const tailrace_layout* layout, int* num_dims) {
  return guarded(__func__, [&] {
    require_address(num_dims, "num_dims");
    *num_dims = get(layout)->num_dims();
  });
}

int tailrace_layout_extents(const tailrace_layout* layout, int64_t extents[TAILRACE_MAX_DIMS]) {
  return guarded(__func__, [&] {
    require_address(extents, "extents");
    const auto whole = get(layout);
    std::copy_n(whole->global_extents().begin(), whole->num_dims(), extents);
  });
}

int tailrace_layout_num_ranks(const tailrace_layout* layout, int* num_ranks) {
  return guarded(__func__, [&] {
    require_address(num_ranks, "num_ranks");
    *num_ranks = get(layout)->num_ranks();
  });
}

int tailrace_layout_num_boxes(const tailrace_layout* layout, int rank, int64_t* num_boxes) {
  return guarded(__func__, [&] {
    require_address(num_boxes, "num_boxes");
    const auto whole = get(layout);
    *num_boxes = std::ssize(whole->boxes(checked_rank(*whole, rank)));
  });
}

int tailrace_layout_box(const tailrace_layout* layout, int rank, int64_t index, tailrace_box* box) {
  return guarded(__func__, [&] {
    require_address(box, "box");
    const auto whole = get(layout);
    const auto boxes = whole->boxes(checked_rank(*whole, rank));
    if (index < 0 || index >= std::ssize(boxes)) {
      throw Error(Errc::invalid_input, fmt::format("rank {} has {} boxes, none of number {}", rank,
                                                   boxes.size(), index));
    }
    *box = to_c(boxes[static_cast<std::size_t>(index)]);
  });
}

int tailrace_layout_num_items(const tailrace_layout* layout, int rank, int64_t* num_items) {
  return guarded(__func__, [&] {
    require_address(num_items, "num_items");
    const auto whole = get(layout);
    *num_items = whole->num_items(checked_rank(*whole, rank));
  });
}

int tailrace_layout_describe(const tailrace_layout* layout, const char** text) {
  return guarded(__func__, [&] {
    require_address(text, "text");
    *text = text_of(layout, get(layout)->describe());
  });
}

int tailrace_memory_dense(const tailrace_layout* layout, int rank, tailrace_memory** memory) {
  return guarded(__func__, [&] {
    require_address(memory, "memory");
    const auto whole = get(layout);
    const auto boxes = whole->boxes(checked_rank(*whole, rank));
    put(memory, std::make_shared<Memory>(Memory::dense(boxes)));
  });
}

int tailrace_memory_ordered(const tailrace_box* box, const int* order, const int64_t* halo,
                            tailrace_memory** memory) {
  return guarded(__func__, [&] {
    require_address(memory, "memory");
    require_address(box, "box");
    const Box one = from_c(*box);
    std::array<int, max_dims> natural{};
    std::iota(natural.begin(), natural.end(), 0);
    const auto axes = list(order != nullptr ? order : natural.data(), one.num_dims, "order");
    std::vector<std::ptrdiff_t> cells;
    if (halo != nullptr) cells = sizes(halo, one.num_dims, "halo");
    put(memory, std::make_shared<Memory>(Memory::ordered(one, axes, cells)));
  });
}

int tailrace_memory_strided(int64_t num_boxes, int num_dims, const int64_t* offsets,
                            const int64_t* strides, int64_t num_items, tailrace_memory** memory) {
  return guarded(__func__, [&] {
    require_address(memory, "memory");
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
    put(memory, std::make_shared<Memory>(std::move(made)));
  });
}

int tailrace_memory_num_items(const tailrace_memory* memory, int64_t* num_items) {
  return guarded(__func__, [&] {
    require_address(num_items, "num_items");
    *num_items = get(memory)->num_items;
  });
}

int tailrace_memory_destroy(tailrace_memory** memory) {
  return guarded(__func__, [&] {
    require_address(memory, "memory");
    end(memory);
  });
}
