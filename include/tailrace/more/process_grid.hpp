// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "tailrace/more/node_map.hpp"

namespace tailrace {

/// An array that is held in three pencils, one after the other, on a grid of rows x columns of
/// ranks, rank = row * columns + column (`pencils`, and the stages of a parallel FFT):
///   axis 2 whole   axis 0 by row, axis 1 by column
///     exchange in rows: the ranks of a row, which hold the same part of axis 0
///   axis 1 whole   axis 0 by row, axis 2 by column
///     exchange in columns
///   axis 0 whole   axis 1 by row, axis 2 by column
/// With one column, {P, 1} (slabs), there is no exchange in rows.
struct GridProblem {
  std::array<std::ptrdiff_t, 3> extents{};  ///< items along each axis
  /// Of these, what is left of axes 1 and 2 when they are exchanged (an FFT may drop modes); 0:
  /// all.
  std::array<std::ptrdiff_t, 3> kept{};
  std::ptrdiff_t item_bytes = 16;
  std::array<int, 2> grid{0, 0};  ///< set by hand; {0, 0} leaves the choice open
};

/// What one of the two exchanges means for the network.
struct GridExchange {
  int ranks = 1;                ///< that exchange with each other
  int nodes = 1;                ///< that they are on, at most; 1: it stays on a node
  double leaving_bytes = 0;     ///< of the node that sends most to others
  std::ptrdiff_t messages = 0;  ///< to other nodes, of the rank that sends most of them
};

struct GridChoice {
  std::array<int, 2> grid{1, 1};
  std::string why;  ///< in a sentence, with figures
  GridExchange rows, columns;
  double fullest = 1;  ///< items of the fullest rank, relative to an even share
};

/// Chooses the grid that suits the nodes. Of all rows x columns that multiply to the number of
/// ranks it takes
///   0. those that leave no rank without items, if there are any;
///   1. of these, those whose fullest rank holds at most 1.5 times what it would on the most even
///   grid;
///   2. of these, those with the fewest bytes leaving a node, within 5 %;
///   3. of these, those with the fewest messages to other nodes: with r ranks on each node, rows on
///      a node need r times fewer than slabs, which are r times as large;
///   4. of these, the one whose fullest rank moves least through memory: slabs need two passes,
///      two exchanges need three; then the one with most rows.
/// So on one node it takes slabs while there are planes enough; on several, rows of the ranks of a
/// node, or of two nodes if there are more nodes than planes. Ranks that do not follow one another
/// on their nodes may leave no exchange on a node; `why` says so. The same on all ranks (a pure
/// function). Throws `Errc::invalid_input` if extents are below 1 or `grid` does not fit. Local.
GridChoice choose_process_grid(const GridProblem& problem, const NodeMap& nodes);

}  // namespace tailrace
