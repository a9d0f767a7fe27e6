// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace::server::one_sided {

/// Memory of ranks that others reach one-sided: an MPI window in passive epochs. Each rank locks
/// only those that it reaches for, never the whole communicator.
class Window {
 public:
  /// `bytes` of this rank (may be 0), 64-byte aligned and zeroed; ready for access to `targets`.
  /// Throws `Errc::mpi` on all ranks, also where the memory model is not the unified one.
  /// Collective over `comm`, blocking. So is the destructor.
  Window(const Comm& comm, std::ptrdiff_t bytes, const std::vector<int>& targets);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::span<std::byte> own() const { return own_; }
  /// Lets others see what was written to `own()`, and this rank what others wrote. Local.
  void sync() const;
  /// Begins to read; local.
  MPI_Request start_get(int rank, std::ptrdiff_t offset, std::span<std::byte> to) const;
  /// Returns when the target can see it.
  void put(int rank, std::ptrdiff_t offset, std::span<const std::byte> bytes) const;

 private:
  OwnedWin win_;
  std::span<std::byte> own_;
  std::vector<MPI_Aint> first_;  // of each rank: where its memory begins in its window
  std::vector<int> locked_;
};

}  // namespace tailrace::server::one_sided
