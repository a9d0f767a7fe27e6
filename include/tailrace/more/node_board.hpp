// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Shared memory in which every rank of a node publishes data to all other ranks, round by round. A
/// rank alternates between two slots: while slow ranks still read the data of one round, fast ranks
/// write that of the next, so one wait per round is enough.
///
/// In each round, all ranks do the same: write `own()`; `meet()`; read `of(rank)`.
class NodeBoard {
 public:
  /// Reserves `bytes` per rank and round, the same on all ranks. Keeps a reference to `node`, whose
  /// ranks are all on one node. Throws `Errc::io` on all ranks if memory is insufficient.
  /// Collective, blocking.
  NodeBoard(const Comm& node, std::ptrdiff_t bytes);
  ~NodeBoard();
  NodeBoard(const NodeBoard&) = delete;
  NodeBoard& operator=(const NodeBoard&) = delete;

  /// Where this rank writes its data before the next `meet`. Local.
  std::byte* own() const { return places_[round_ % 2][rank_]; }
  /// Returns when all ranks have written. Collective, blocking.
  void meet();
  /// The data of `rank` in the round that ended last; read it before the next `meet`. Local.
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
