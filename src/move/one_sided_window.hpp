// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Memory of ranks that others reach one-sided: an MPI window in passive epochs.
class OneSidedWindow {
 public:
  /// `bytes` of this rank (may be 0), 64-byte aligned and zeroed; ready for access to `targets`
  /// only. Throws `Errc::mpi` on all ranks, also where the memory model is not the unified one.
  /// Collective over `comm`, blocking. So is the destructor.
  OneSidedWindow(const Comm& comm, std::ptrdiff_t bytes, std::span<const int> targets);
  /// The same, ready for access to all ranks of `comm`: for rows and columns, not for a whole job.
  OneSidedWindow(const Comm& comm, std::ptrdiff_t bytes);
  ~OneSidedWindow();
  OneSidedWindow(const OneSidedWindow&) = delete;
  OneSidedWindow& operator=(const OneSidedWindow&) = delete;

  std::span<std::byte> own() const { return own_; }
  /// Lets others see what was written to `own()`, and this rank what others wrote. Local.
  void sync() const;
  /// Begins to read; local.
  MPI_Request start_get(int rank, std::ptrdiff_t offset, std::span<std::byte> to) const;
  /// Returns when the target can see it.
  void put(int rank, std::ptrdiff_t offset, std::span<const std::byte> bytes) const;

 private:
  void allocate(const Comm& comm, std::ptrdiff_t bytes);
  void finish_making(const Comm& comm) const;

  OwnedWin win_;
  std::span<std::byte> own_;
  std::vector<MPI_Aint> first_;  // of each rank: where its memory begins in its window
  std::vector<int> locked_;      // all ranks if it is empty
};

}  // namespace tailrace
