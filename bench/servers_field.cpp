// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "servers_variant.hpp"

namespace bench {

namespace {

/// Parts along z, y and x.
std::array<int, 3> grid_of(const std::string& shape, int num_ranks) {
  if (shape == "slab") return {num_ranks, 1, 1};
  if (shape != "pencil") {
    throw tailrace::Error(tailrace::Errc::invalid_input, "shape " + shape + ": slab or pencil");
  }
  int split[2] = {0, 0};
  MPI_Dims_create(num_ranks, 2, split);
  return {split[1], 1, split[0]};
}

Pattern pattern_of(int n, const std::array<int, 3>& grid, const tailrace::Comm& comm) {
  PatternRequest request;
  request.name = "blocks3d";
  request.edge = n;
  request.grid =
      std::to_string(grid[0]) + 'x' + std::to_string(grid[1]) + 'x' + std::to_string(grid[2]);
  return make_pattern(request, comm.rank(), comm.num_ranks());
}

}  // namespace

StepField::StepField(const tailrace::Comm& comm, int n, const std::string& shape,
                     std::string folder_path)
    : folder(std::move(folder_path)),
      pattern(pattern_of(n, grid_of(shape, comm.num_ranks()), comm)),
      layout(tailrace::blocks(pattern.array->extents, grid_of(shape, comm.num_ranks()))),
      box(layout.boxes(comm.rank()).at(0)),
      num_items(box.num_items()) {}

}  // namespace bench
