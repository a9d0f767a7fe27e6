// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "pdense/scalapack.hpp"

namespace tailrace::dense {

/// One axis of a matrix that is distributed in blocks to a grid, and what this rank has of it.
struct BlockCyclicAxis {
  int extent = 0;
  int block = 1;
  int first = 0;   ///< place in the grid of the first block
  int places = 1;  ///< of the grid
  int place = 0;   ///< of this rank

  /// Blocks from the first one to this rank's first.
  int distance() const { return (place + places - first) % places; }
  /// How many of this rank's lie before a global index; all of them with the extent.
  int count_before(int end) const {
    const int blocks = end / block;
    const int rest = blocks % places;
    const int own = distance() < rest ? block : distance() == rest ? end % block : 0;
    return blocks / places * block + own;
  }
  int count() const { return count_before(extent); }
  /// The global index of one of this rank's.
  int global(int local) const {
    return (local / block * places + distance()) * block + local % block;
  }
};

/// A matrix distributed over the grid of a BLACS context, which begins with a whole block.
struct BlockCyclic {
  int context = 0;
  BlockCyclicAxis rows, columns;

  std::size_t num_items() const {
    return static_cast<std::size_t>(rows.count()) * static_cast<std::size_t>(columns.count());
  }
  /// The leading dimension of an array without gaps.
  int dense_ld() const { return std::max(1, rows.count()); }
  /// ScaLAPACK's descriptor of an array with that leading dimension.
  std::array<int, 9> descriptor(int ld) const {
    return {1,          context,       rows.extent, columns.extent, rows.block, columns.block,
            rows.first, columns.first, ld};
  }
};

/// Calls visit(item without gaps, item with leading dimension `ld`, global column) for this rank's.
template <class Visit>
void for_each(const BlockCyclic& matrix, int ld, Visit visit) {
  const int rows = matrix.rows.count();
  const int columns = matrix.columns.count();
  for (int j = 0; j < columns; ++j) {
    const auto column = static_cast<std::size_t>(matrix.columns.global(j));
    const auto from = static_cast<std::size_t>(j) * static_cast<std::size_t>(matrix.dense_ld());
    const auto other = static_cast<std::size_t>(j) * static_cast<std::size_t>(ld);
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
      visit(from + i, other + i, column);
    }
  }
}

/// Rows and columns that a descriptor names, as far as `rows` x `columns`.
inline BlockCyclic block_cyclic_of(const int* descriptor, int rows, int columns) {
  BlockCyclic cyclic{descriptor[1],
                     {.extent = rows, .block = descriptor[4], .first = descriptor[6]},
                     {.extent = columns, .block = descriptor[5], .first = descriptor[7]}};
  blacs_gridinfo_(&cyclic.context, &cyclic.rows.places, &cyclic.columns.places, &cyclic.rows.place,
                  &cyclic.columns.place);
  return cyclic;
}

}  // namespace tailrace::dense
