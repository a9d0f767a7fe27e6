// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Shared memory in which every rank of a node shows something to all the others, round by round.
/// A rank has two places and alternates between them: while slow ranks still read what a round has
/// shown, fast ones write for the next, so that one wait a round is enough.
///
/// Use, again and again, the same on all ranks: write `own()`; `meet()`; read `of(rank)`.
class NodeBoard {
 public:
  /// `bytes` for each rank in a round, the same on all. Keeps a reference to `node`, whose ranks
  /// are all on one node. Throws `Errc::io` on all ranks if there is no memory. Collective,
  /// blocking.
  NodeBoard(const Comm& node, std::ptrdiff_t bytes);
  ~NodeBoard();
  NodeBoard(const NodeBoard&) = delete;
  NodeBoard& operator=(const NodeBoard&) = delete;

  /// What this rank shows in the round that the next `meet` ends. Local.
  std::byte* own() const { return places_[round_ % 2][rank_]; }
  /// Returns when all ranks have written. Collective, blocking.
  void meet();
  /// What `rank` shows in the round that has ended last; to be read before the next `meet`. Local.
  const std::byte* of(int rank) const {
    return places_[(round_ + 1) % 2][static_cast<std::size_t>(rank)];
  }
  std::ptrdiff_t bytes() const { return bytes_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::size_t rank_;
  std::ptrdiff_t bytes_;
  std::array<std::vector<std::byte*>, 2> places_;
  std::uint32_t round_ = 0;
};

}  // namespace tailrace
