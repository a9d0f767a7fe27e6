// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Memory for a rank's arrays that the other ranks of its node can read in place. An `Exchange`
/// that knows of it (`Exchange::expose`) moves data out of it by `node_direct` in one strided pass.
/// Copies refer to the same memory, which is freed with the last of them (and of the exchanges that
/// it was exposed to), collectively: all ranks let go of their arrays in the same order.
class NodeArray {
 public:
  NodeArray() = default;
  /// `num_bytes` for this rank (may differ between ranks), zeroed, 64-byte aligned. `comm` may
  /// reach over several nodes: the ranks of each share theirs. Throws `Errc::invalid_input` on all
  /// ranks if num_bytes is negative. Collective, blocking.
  NodeArray(const Comm& comm, std::ptrdiff_t num_bytes);

  /// This rank's memory. Local.
  std::byte* data() const;
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  std::ptrdiff_t num_bytes() const;
  /// The memory of `rank` of the communicator, null if that is on another node; the caller sees to
  /// it that both sides agree on when it may be read. Local.
  std::byte* data_of(int rank) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tailrace
