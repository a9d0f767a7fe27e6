// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "tailrace/error.hpp"
#include "tailrace/more/pgesv.hpp"

namespace tailrace::dense {

namespace {

using Extents = std::array<std::ptrdiff_t, 2>;

/// Calls visit(row of blocks, column of blocks) for the blocks of a rank.
template <class Visit>
void for_each_block(const Extents& extents, std::ptrdiff_t block, const std::array<int, 2>& grid,
                    int rank, Visit visit) {
  const auto rows = (extents[0] + block - 1) / block;
  const auto columns = (extents[1] + block - 1) / block;
  for (std::ptrdiff_t column = rank % grid[1]; column < columns; column += grid[1]) {
    for (std::ptrdiff_t row = rank / grid[1]; row < rows; row += grid[0]) visit(row, column);
  }
}

void check(const Extents& extents, std::ptrdiff_t block, const std::array<int, 2>& grid) {
  if (extents[0] >= 0 && extents[1] >= 0 && block >= 1 && grid[0] >= 1 && grid[1] >= 1) return;
  throw Error(Errc::invalid_input,
              fmt::format("block_cyclic: extents {} x {} must not be negative, block {} and grid "
                          "{} x {} at least 1",
                          extents[0], extents[1], block, grid[0], grid[1]));
}

}  // namespace

Layout block_cyclic(Extents extents, std::ptrdiff_t block, std::array<int, 2> grid) {
  check(extents, block, grid);
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(grid[0]) *
                                      static_cast<std::size_t>(grid[1]));
  for (std::size_t rank = 0; rank < boxes.size(); ++rank) {
    for_each_block(extents, block, grid, static_cast<int>(rank), [&](auto row, auto column) {
      Box box{.num_dims = 2, .start = {row * block, column * block}, .extents = {}};
      for (std::size_t d = 0; d < 2; ++d) {
        box.extents[d] = std::min(block, extents[d] - box.start[d]);
      }
      boxes[rank].push_back(box);
    });
  }
  return from_boxes(extents, std::move(boxes));
}

Memory block_cyclic_memory(Extents extents, std::ptrdiff_t block, std::array<int, 2> grid,
                           int rank) {
  check(extents, block, grid);
  const std::array place{rank / grid[1], rank % grid[1]};
  Extents local{};
  for (std::size_t d = 0; d < 2; ++d) {
    for (auto i = place[d] * block; i < extents[d]; i += grid[d] * block) {
      local[d] += std::min(block, extents[d] - i);
    }
  }
  Memory memory;
  memory.num_items = local[0] * local[1];
  for_each_block(extents, block, grid, rank, [&](auto row, auto column) {
    BoxMemory one;
    one.offset = row / grid[0] * block + column / grid[1] * block * local[0];
    one.strides[0] = 1;
    one.strides[1] = local[0];
    memory.boxes.push_back(one);
  });
  return memory;
}

}  // namespace tailrace::dense
