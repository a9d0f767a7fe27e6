// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "move/node_window.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::store {

/// The staging buffers of the writers: `slots` of them on each rank, each big enough for the rank's
/// part of one file. If all ranks are on one node they lie in shared memory, so that every rank can
/// put its items straight into the buffer of the writer.
class Staging {
 public:
  /// `share` asks for shared memory. Collective.
  Staging(const Comm& comm, int slots, bool share);
  /// Makes room for `bytes` in each slot of this rank; nothing may be under way if `grows`.
  /// Collective, blocking. Throws `Errc::io` (ENOMEM) on all ranks if there is not enough memory.
  void reserve(std::ptrdiff_t bytes);
  /// True if `reserve(bytes)` would make new buffers on this rank. Local.
  bool grows(std::ptrdiff_t bytes) const { return bytes > slot_bytes_; }
  bool shared() const { return node_.has_value(); }
  /// Slot `slot` of `rank`; of other ranks only if `shared`.
  std::byte* slot(int rank, int slot) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  const Comm& comm_;
  int slots_;
  std::optional<Comm> node_;
  NodeWindow window_;
  std::unique_ptr<std::byte, Free> own_;
  std::ptrdiff_t slot_bytes_ = 0;
  std::vector<std::byte*> first_;           // first slot of each rank
  std::vector<std::ptrdiff_t> rank_bytes_;  // bytes of a slot of each rank
};

}  // namespace tailrace::store
