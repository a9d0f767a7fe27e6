// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/wait.hpp"
#include "move/node_window.hpp"
#include "tailrace/comm.hpp"

namespace tailrace {

/// Counts the arrivals of the ranks of a node at a point that they all pass again and again, in
/// shared memory. The last one of a round wakes the others with one call, so that a rank on an
/// oversubscribed node sleeps at most once a round, and not once for each peer. Zeroed memory is a
/// counter of which no round has ended. It only counts: users see to it that nobody arrives in a
/// round before all have arrived in the one before, as the first would pass for those that are
/// still missing.
class Arrivals {
 public:
  /// One of `num_ranks` arrives (release order). Nobody arrives twice in a round. Local.
  void arrive(int num_ranks) {
    arrive(num_ranks, [] {});
  }
  /// The same; the last of a round calls `last` before the round ends: it sees what the others
  /// wrote before they arrived, and they see what it writes when they go on.
  template <class Last>
  void arrive(int num_ranks, Last&& last) {
    const auto all = static_cast<std::uint64_t>(num_ranks);
    const auto count = count_.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (count % all != 0) return;
    last();
    ended_.advance(static_cast<std::uint32_t>(count / all));
  }
  /// True if `rounds` rounds have ended (acquire order; modulo 2^32). Local.
  bool reached(std::uint32_t rounds) const { return ended_.reached(rounds); }
  /// Waits until `rounds` rounds have ended; now and then lets MPI advance on `comm`.
  void wait(std::uint32_t rounds, const WaitPolicy& policy, MPI_Comm comm) {
    wait_and_progress(ended_, rounds, comm, policy);
  }

 private:
  alignas(64) std::atomic<std::uint64_t> count_;
  SequenceFlag ended_;  ///< rounds
};

/// Shared memory in which every rank of a node shows something to all the others, round by round.
/// A rank has two places in turn: while slow ranks still read what a round has shown, fast ones
/// write for the next, so that one wait a round is enough.
///
/// Use, again and again, the same on all ranks: write `own()`; `meet()`; read `of(rank)`.
class NodeBoard {
 public:
  /// `bytes` for each rank in a round, the same on all. Keeps references. All ranks of `node` are
  /// on one node. Throws `Errc::io` on all ranks if there is no memory. Collective, blocking.
  NodeBoard(const Comm& node, const WaitPolicy& waiting, std::ptrdiff_t bytes);

  /// What this rank shows in the round that the next `meet` ends. Local.
  std::byte* own() const { return places_[round_ % 2][static_cast<std::size_t>(node_.rank())]; }
  /// Returns when all ranks have written. Collective, blocking.
  void meet();
  /// What `rank` shows in the round that has ended last; to be read before the next `meet`. Local.
  const std::byte* of(int rank) const {
    return places_[(round_ + 1) % 2][static_cast<std::size_t>(rank)];
  }
  std::ptrdiff_t bytes() const { return bytes_; }

 private:
  const Comm& node_;
  const WaitPolicy& waiting_;
  std::ptrdiff_t bytes_;
  NodeWindow window_;
  Arrivals* written_ = nullptr;  ///< in the segment of the first rank
  std::array<std::vector<std::byte*>, 2> places_;
  std::uint32_t round_ = 0;
};

}  // namespace tailrace
