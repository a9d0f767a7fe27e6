// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "move/node_window.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace::store {

/// The staging buffers of the writers: `slots` of them on each rank, each big enough for the rank's
/// part of one file. If all ranks are on one node they lie in shared memory, so that every rank can
/// put its items straight into the buffer of the writer.
class Staging {
 public:
  /// `share` asks for shared memory. Collective.
  Staging(const Comm& comm, int slots, bool share);
  /// True if `bytes` are more than a slot has, on any rank. Collective, blocking.
  bool outgrown(std::ptrdiff_t bytes) const;
  /// New buffers, with room for `bytes` in each slot of this rank; the old ones go first, so
  /// nothing may be under way. Collective, blocking. Throws `Errc::io` (ENOMEM) on all ranks if
  /// there is not enough memory; then there are no buffers.
  void grow(std::ptrdiff_t bytes);
  bool shared() const { return shared_; }
  /// Slot `slot` of `rank`; of other ranks only if `shared`.
  std::byte* slot(int rank, int slot) const;

 private:
  const Comm& comm_;
  int slots_;
  bool shared_;
  NodeWindow window_;
  Buffer own_;
  std::vector<std::byte*> first_;           // first slot of each rank
  std::vector<std::ptrdiff_t> slot_bytes_;  // of each rank
};

}  // namespace tailrace::store
