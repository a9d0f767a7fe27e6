// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

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

}  // namespace tailrace
