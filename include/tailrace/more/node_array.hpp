// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Memory for a rank's arrays that the other ranks of its node can read in place. An `Exchange` to
/// which it has been exposed (`Exchange::expose`) copies data from it by `node_direct` in one
/// strided pass. Copies refer to the same memory; a rank releases it with the last copy (and the
/// last exchange to which it was exposed), also after MPI_Finalize. Ranks in separate containers
/// use shared memory of MPI (/dev/shm) instead, which is freed collectively: release such arrays in
/// the same order on all ranks.
class NodeArray {
 public:
  NodeArray() = default;
  /// Allocates `num_bytes` for this rank (may differ between ranks), zeroed, 64-byte aligned.
  /// `comm` may span several nodes: the ranks of each node share their memory. Throws on all ranks:
  /// `Errc::invalid_input` if `num_bytes` is negative, `Errc::io` (ENOMEM) if memory is
  /// insufficient. Collective, blocking.
  NodeArray(const Comm& comm, std::ptrdiff_t num_bytes);

  /// This rank's memory. Local.
  std::byte* data() const;
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  std::ptrdiff_t num_bytes() const;
  /// The ranks that created it, numbered as in MPI_COMM_WORLD. Local.
  const std::vector<int>& world_ranks() const;
  /// The memory of `rank` of the communicator, or null if that rank is on another node. The caller
  /// must synchronise both sides before reading it. Local.
  std::byte* data_of(int rank) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tailrace
