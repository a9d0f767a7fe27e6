// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "pdense/scalapack.hpp"
#include "tailrace/more/pgesv.hpp"

namespace tailrace::dense {

constexpr int one = 1;  ///< ScaLAPACK takes addresses

/// BLACS's context of a grid over a communicator.
class Grid {
 public:
  Grid(MPI_Comm comm, std::array<int, 2> extents) : handle_(Csys2blacs_handle(comm)) {
    context_ = handle_;
    Cblacs_gridinit(&context_, "Row", extents[0], extents[1]);
  }
  ~Grid() {
    Cblacs_gridexit(context_);
    Cfree_blacs_system_handle(handle_);
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
  int context() const { return context_; }

 private:
  int handle_;
  int context_;
};

/// A distributed matrix: where its blocks are, and this rank's rows and columns.
struct Blocks {
  std::array<std::ptrdiff_t, 2> extents;
  Layout layout;
  Memory memory;
  std::array<int, 9> descriptor;
  std::ptrdiff_t rows = 0, columns = 0;  ///< of this rank

  Blocks(std::array<std::ptrdiff_t, 2> all, const PgesvOptions& options, int context, int rank)
      : extents(all),
        layout(block_cyclic(all, options.block, options.grid)),
        memory(block_cyclic_memory(all, options.block, options.grid, rank)) {
    const int place = rank / options.grid[1];
    for (auto i = place * options.block; i < all[0]; i += options.grid[0] * options.block) {
      rows += std::min(options.block, all[0] - i);
    }
    columns = rows == 0 ? 0 : memory.num_items / rows;
    const int block = static_cast<int>(options.block);
    descriptor = {1,
                  context,
                  static_cast<int>(all[0]),
                  static_cast<int>(all[1]),
                  block,
                  block,
                  0,
                  0,
                  static_cast<int>(std::max<std::ptrdiff_t>(1, rows))};
  }
  std::size_t num_items() const { return static_cast<std::size_t>(memory.num_items); }
};

/// The system in blocks: A, B, and what was learned of them.
struct System {
  const Comm& comm;
  const PgesvOptions& options;
  Blocks a, b;
  std::vector<double> a_items, b_items;
  double a_norm = 0;  ///< infinity norm
  double a_one_norm = 0;
  double largest = 0;  ///< item of A and B; infinite if one is not finite

  int n() const { return static_cast<int>(a.extents[0]); }
  int nrhs() const { return static_cast<int>(b.extents[1]); }
};

}  // namespace tailrace::dense
