// SPDX-License-Identifier: BSD-3-Clause
// Heat spreads on blocks that the program itself distributes, each with a halo. Every 10 steps the
// field is written without the halo, while the program computes the next steps. A run may start
// from a file of another run, on any number of ranks.
//   mpirun -n 4 own_blocks FOLDER LAST_STEP [FILE FIRST_STEP]
// Seven lines use the library, all of them in run().
#include <mpi.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "tailrace/input.hpp"
#include "tailrace/output.hpp"

using Index = std::array<std::ptrdiff_t, 3>;
constexpr Index points{20, 18, 16};  // z, y, x
constexpr int output_every = 10;

/// This rank's block of a periodic box, with one item more on both sides of each axis.
struct Block {
  MPI_Comm ranks = MPI_COMM_NULL;  ///< a grid of ranks, of MPI_Cart_create
  Index start{}, count{}, stride{};
  std::vector<double> u;

  Block() {
    int size = 0, rank = 0;
    std::array<int, 3> grid{}, periodic{1, 1, 1}, at{};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, grid.data());
    MPI_Cart_create(MPI_COMM_WORLD, 3, grid.data(), periodic.data(), 1, &ranks);
    MPI_Comm_rank(ranks, &rank);
    MPI_Cart_coords(ranks, rank, 3, at.data());
    for (std::size_t d = 0; d < 3; ++d) {
      start[d] = points[d] * at[d] / grid[d];
      count[d] = points[d] * (at[d] + 1) / grid[d] - start[d];
    }
    stride = {(count[1] + 2) * (count[2] + 2), count[2] + 2, 1};
    u.resize(static_cast<std::size_t>((count[0] + 2) * stride[0]));
  }
  std::size_t item(std::ptrdiff_t k, std::ptrdiff_t j, std::ptrdiff_t i) const {
    return static_cast<std::size_t>(k * stride[0] + j * stride[1] + i);
  }
};

/// Calls `body(k, j, i)` for each item of the block, from 1.
template <class Body>
void for_items(const Block& block, Body&& body) {
  for (std::ptrdiff_t k = 1; k <= block.count[0]; ++k)
    for (std::ptrdiff_t j = 1; j <= block.count[1]; ++j)
      for (std::ptrdiff_t i = 1; i <= block.count[2]; ++i) body(k, j, i);
}

/// Sends the planes at both ends of axis d to the neighbours, which keep them in their halos.
void fill_halo(Block& block, int d) {
  std::array<int, 3> sizes{}, shape{}, first{0, 0, 0};
  for (std::size_t e = 0; e < 3; ++e) sizes[e] = static_cast<int>(block.count[e]) + 2;
  const auto axis = static_cast<std::size_t>(d);
  const int end = sizes[axis] - 2;
  shape = sizes;
  shape[axis] = 1;
  const auto plane_at = [&](int place) {
    MPI_Datatype plane = MPI_DATATYPE_NULL;
    first[axis] = place;
    MPI_Type_create_subarray(3, sizes.data(), shape.data(), first.data(), MPI_ORDER_C, MPI_DOUBLE,
                             &plane);
    MPI_Type_commit(&plane);
    return plane;
  };
  int before = 0, after = 0;
  MPI_Cart_shift(block.ranks, d, 1, &before, &after);
  std::array planes{plane_at(end), plane_at(0), plane_at(1), plane_at(end + 1)};
  MPI_Sendrecv(block.u.data(), 1, planes[0], after, 0, block.u.data(), 1, planes[1], before, 0,
               block.ranks, MPI_STATUS_IGNORE);
  MPI_Sendrecv(block.u.data(), 1, planes[2], before, 0, block.u.data(), 1, planes[3], after, 0,
               block.ranks, MPI_STATUS_IGNORE);
  for (auto& plane : planes) MPI_Type_free(&plane);
}

/// One explicit step of du/dt = laplace u.
void step(Block& block) {
  for (int d = 0; d < 3; ++d) fill_halo(block, d);
  auto next = block.u;
  for_items(block, [&](auto k, auto j, auto i) {
    const auto& u = block.u;
    const double neighbours = u[block.item(k - 1, j, i)] + u[block.item(k + 1, j, i)] +
                              u[block.item(k, j - 1, i)] + u[block.item(k, j + 1, i)] +
                              u[block.item(k, j, i - 1)] + u[block.item(k, j, i + 1)];
    const double here = u[block.item(k, j, i)];
    next[block.item(k, j, i)] = here + 0.125 * (neighbours - 6 * here);
  });
  std::swap(block.u, next);
}

void run(const std::string& folder, int last_step, const std::string& from, int first_step) {
  Block block;
  for_items(block, [&](auto k, auto j, auto i) {
    const auto x = block.start[2] + i - 1, y = block.start[1] + j - 1, z = block.start[0] + k - 1;
    block.u[block.item(k, j, i)] = x == 3 && y == 4 && z < 9 ? 100 : 0;
  });
  const tailrace::Comm comm(block.ranks);
  const auto layout = tailrace::own_box(comm, points, block.start, block.count);
  tailrace::Output output(comm);
  if (!from.empty()) tailrace::Input(comm, from).read("u", layout, block.u, {.halo = 1});
  for (int s = first_step + 1; s <= last_step; ++s) {
    step(block);
    const auto path = folder + "/u_" + std::to_string(s) + ".h5";
    if (s % output_every == 0)
      output.write(path, {.variables = {{"u", layout, block.u, {.halo = 1}}}});
    output.progress();  // never waits
  }
  output.finish();
  MPI_Comm_free(&block.ranks);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    run(argc > 1 ? argv[1] : ".", argc > 2 ? std::atoi(argv[2]) : 20, argc > 4 ? argv[3] : "",
        argc > 4 ? std::atoi(argv[4]) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_blocks: error: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
