// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "tailrace/more/node_map.hpp"

namespace tailrace {

/// An array that is stored in three pencil layouts, one after the other, on a grid of rows x
/// columns of ranks, rank = row * columns + column (`pencils`, and the stages of a parallel FFT):
///   axis 2 whole   axis 0 by row, axis 1 by column
///     exchange in rows: the ranks of a row, which hold the same part of axis 0
///   axis 1 whole   axis 0 by row, axis 2 by column
///     exchange in columns
///   axis 0 whole   axis 1 by row, axis 2 by column
/// With one column, {P, 1} (slabs), there is no exchange in rows.
struct GridProblem {
  std::array<std::ptrdiff_t, 3> extents{};  ///< items along each axis
  /// Items of axes 1 and 2 that remain when they are exchanged (an FFT may drop modes); 0: all.
  std::array<std::ptrdiff_t, 3> kept{};
  std::ptrdiff_t item_bytes = 16;
  std::array<int, 2> grid{0, 0};  ///< set by hand; {0, 0} leaves the choice open
};

/// The network load of one of the two exchanges.
struct GridExchange {
  int ranks = 1;                ///< ranks that exchange with each other
  int nodes = 1;                ///< largest number of their nodes; 1: stays on a node
  double leaving_bytes = 0;     ///< largest number of bytes leaving one node
  std::ptrdiff_t messages = 0;  ///< largest number of messages of a rank to other nodes
};

struct GridChoice {
  std::array<int, 2> grid{1, 1};
  std::string why;  ///< reason of the choice, in a sentence with figures
  GridExchange rows, columns;
  double fullest = 1;  ///< items of the fullest rank, relative to an even share
};

/// Chooses the grid that suits the nodes. Of all rows x columns that multiply to the number of
/// ranks it takes 0. those that leave no rank without items, if possible;
///   1. of these, those whose fullest rank holds at most 1.5 times what it would on the most even
///   grid;
///   2. of these, those with the fewest bytes leaving a node, within 5 %;
///   3. of these, those with the fewest messages to other nodes: with r ranks on each node, rows on
///      a node need r times fewer than slabs, which are r times as large;
///   4. of these, the one whose fullest rank moves least through memory: slabs need two passes,
///      two exchanges need three; then the one with most rows.
/// On one node it therefore takes slabs as long as there are enough planes. On several nodes it
/// takes rows with the ranks of one node, or of two nodes if there are more nodes than planes. If
/// the ranks of a node are not consecutive, both exchanges may cross nodes; `why` then says so. The
/// result is the same on all ranks (a pure function). Throws `Errc::invalid_input` if extents are
/// below 1 or `grid` does not fit. Local.
GridChoice choose_process_grid(const GridProblem& problem, const NodeMap& nodes);

}  // namespace tailrace
