// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
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

// What this MPI's one-sided reads are worth between these ranks, found by trying: some MPIs make no
// windows of them, some move nothing until the owner of the memory calls MPI.

/// What was found by trying.
struct OneSidedProbe {
  std::string trouble;  ///< "" if ranks can read the memory of others without their help
  double read_s = 0;    ///< for a small read of each target, the slowest reader [s]
};

/// "one-sided reads move without the help of the memory's owner (12 us)", or its trouble. Local.
std::string describe(const OneSidedProbe& probe);

/// Tries whether one-sided data moves while its owner sleeps. This rank reads `targets`; ranks that
/// have none sleep. Takes some 50 ms, or 0.6 s where it does not. Collective over `comm`, blocking;
/// the same result on all ranks.
OneSidedProbe probe_one_sided(const Comm& comm, std::span<const int> targets);
/// The same with the last rank as the reader, of a few others.
OneSidedProbe probe_one_sided(const Comm& comm);

/// The same for any way to read: every rank shows its own number in its memory, and `read(rank)`
/// fetches what `rank` shows, or throws.
OneSidedProbe probe_reads(const Comm& comm, std::span<const int> targets,
                          const std::function<std::int64_t(int)>& read);

/// Whether windows can be made and the right bytes come where all ranks call MPI: "" or what is
/// wrong. Each rank reads its next one. Does not sleep. Collective over `comm`, blocking; the same
/// result on all ranks.
std::string probe_windows(const Comm& comm);

/// The ranks that reader number `reader` tries: a few of `ranks`, others for each reader; none if
/// it is -1. Local.
std::vector<int> probe_targets(int reader, const std::vector<int>& ranks);

}  // namespace tailrace
