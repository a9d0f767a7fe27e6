// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Memory for a rank's arrays that the other ranks of its node can read in place. An `Exchange`
/// that knows of it (`Exchange::expose`) moves data out of it by `node_direct` in one strided pass.
/// Copies refer to the same memory, which a rank releases with the last of them (and of the
/// exchanges that it was exposed to), also after MPI_Finalize. Ranks in separate containers
/// share memory of MPI's (/dev/shm) instead, which is freed collectively: all in the same order.
class NodeArray {
 public:
  NodeArray() = default;
  /// `num_bytes` for this rank (may differ between ranks), zeroed, 64-byte aligned. `comm` may
  /// reach over several nodes: the ranks of each share theirs. Throws `Errc::invalid_input` on all
  /// ranks if num_bytes is negative, `Errc::io` (ENOMEM) on all if there is not so much memory.
  /// Collective, blocking.
  NodeArray(const Comm& comm, std::ptrdiff_t num_bytes);

  /// This rank's memory. Local.
  std::byte* data() const;
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  std::ptrdiff_t num_bytes() const;
  /// The ranks that made it, as numbers of MPI_COMM_WORLD. Local.
  const std::vector<int>& world_ranks() const;
  /// The memory of `rank` of the communicator, null if that is on another node; the caller sees to
  /// it that both sides agree on when it may be read. Local.
  std::byte* data_of(int rank) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tailrace
