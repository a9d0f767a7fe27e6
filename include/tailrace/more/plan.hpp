// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tailrace/layout.hpp"

namespace tailrace {

/// One box that moves between this rank and `peer`, in global indices, with the local box (index
/// into `Layout::boxes(rank)`) that it belongs to on this side.
struct Piece {
  int peer = 0;
  int local_box = 0;
  Box box;
};

/// The boxes that one rank sends to and receives from each peer. Plain data, without MPI calls.
/// Pieces are sorted by peer; the pieces of a peer have the same order on both sides (source box,
/// then destination box). The cost of creating it is proportional to the boxes this rank touches
/// plus the peers found, not to the number of ranks: 0.04 to 0.16 us per piece on one core (AMD
/// EPYC). With 100,000 ranks and 4096^3 points: 54 us for a plan between pencils of a 250 x 400
/// grid (800 pieces), 6 us between blocks and the file domains of 64 writers (52 pieces); 0.8 us
/// between listed boxes (5 pieces). `tests/move/plan_test` prints these figures.
class Plan {
 public:
  /// The plan of `rank` for moving data from layout `from` to layout `to`. Throws
  /// `Errc::invalid_input` if global extents or numbers of ranks differ. Local.
  Plan(const Layout& from, const Layout& to, int rank);

  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  const std::vector<Piece>& sends() const { return sends_; }
  const std::vector<Piece>& receives() const { return receives_; }
  /// The boxes of this rank on each side.
  const std::vector<Box>& from_boxes() const { return from_boxes_; }
  const std::vector<Box>& to_boxes() const { return to_boxes_; }
  /// The same plan for a communicator with only `ranks` (ascending), which include this rank and
  /// all its peers: peers become indices in `ranks`. Local.
  Plan among(const std::vector<int>& ranks) const;
  /// This rank's row of the byte matrix: (peer, bytes sent), peers ascending. Local.
  std::vector<std::pair<int, std::ptrdiff_t>> bytes(std::ptrdiff_t item_bytes) const;
  /// One paragraph for people: pieces, peers, bytes, largest message. Local.
  std::string describe(std::ptrdiff_t item_bytes) const;

 private:
  int rank_ = 0;
  int num_ranks_ = 1;
  std::vector<Box> from_boxes_, to_boxes_;
  std::vector<Piece> sends_, receives_;
};

}  // namespace tailrace
