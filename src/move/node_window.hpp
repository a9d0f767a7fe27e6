// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/shared_memory.hpp"
#include "core/wait.hpp"
#include "tailrace/box.hpp"
#include "tailrace/comm.hpp"

namespace tailrace {

/// Memory of the ranks of one node that all of them can read and write: without a name, and
/// without limit but that of the node's memory (memfd). Ranks that cannot open what another one has
/// made, as they are in containers of their own, get an MPI shared-memory window; freeing that is
/// collective over the node's ranks. Other memory is let go of by each rank for itself: those that
/// still have it keep it, also beyond MPI_Finalize.
class NodeWindow {
 public:
  NodeWindow() = default;
  /// `bytes` of this rank's own segment (may be 0, may differ between ranks), 64-byte aligned,
  /// zeroed; a segment is taken from the memory domain of its rank. Throws `Errc::io` (ENOMEM) on
  /// all ranks of `everybody`, of which `node` is a part, if there is none. Collective over
  /// `everybody`, blocking.
  NodeWindow(const Comm& everybody, const Comm& node, std::ptrdiff_t bytes);
  NodeWindow(const Comm& node, std::ptrdiff_t bytes) : NodeWindow(node, node, bytes) {}

  /// First byte of the segment of node rank `rank`. Local.
  std::byte* segment(int rank) const { return segments_[static_cast<std::size_t>(rank)]; }
  std::byte* own() const { return own_; }
  explicit operator bool() const { return own_ != nullptr; }

 private:
  /// Null if the ranks cannot open what their first one makes; `failure` says what else went wrong.
  std::byte* map_common(const Comm& node, std::ptrdiff_t total, Range own,
                        std::optional<Error>& failure);
  std::byte* allocate_window(const Comm& node, std::ptrdiff_t total, std::optional<Error>& failure);

  OwnedWin win_;
  Mapping mapped_;
  std::vector<std::byte*> segments_;
  std::byte* own_ = nullptr;
};

/// A counter in shared memory that ranks and threads wait on: spins briefly, then sleeps on a
/// futex. The value only grows (compared modulo 2^32).
class SequenceFlag {
 public:
  /// Sets the value (release order) and wakes those who wait.
  void publish(std::uint32_t value);
  /// The same unless the value has passed `value` already: for several writers.
  void advance(std::uint32_t value);
  /// Waits until the value has reached `value` (acquire order), at most about `timeout_s`: looks
  /// `spins` times, then sleeps; false if it has not been reached by then.
  bool wait_for(std::uint32_t value, double timeout_s, int spins);
  bool reached(std::uint32_t value) const {
    return static_cast<std::int32_t>(value_.load(std::memory_order_acquire) - value) >= 0;
  }
  std::uint32_t value() const { return value_.load(std::memory_order_acquire); }

 private:
  alignas(64) std::atomic<std::uint32_t> value_;
  std::atomic<std::uint32_t> sleepers_;
};

/// Waits for `value`, and now and then lets MPI send what this rank posted earlier on `comm`: a
/// peer may be waiting for that before it gets as far as publishing. Main thread only.
void wait_and_progress(SequenceFlag& flag, std::uint32_t value, MPI_Comm comm,
                       const WaitPolicy& policy);

}  // namespace tailrace
