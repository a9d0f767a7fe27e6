// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tailrace/comm.hpp"

namespace tailrace {

/// What output has cost the simulation so far, and the outcome of its steps: of an `Output` or of a
/// `Stream`, by every kind of server. Of this rank, unless said otherwise; `over_ranks` gives all.
struct OutputStatistics {
  std::int64_t steps = 0;     ///< calls of `write` that took their step
  std::int64_t complete = 0;  ///< steps known to be complete on disk
  std::int64_t dropped = 0, thinned = 0, lowered = 0, spilled = 0, failed = 0;  ///< see `WhenFull`
  std::ptrdiff_t bytes = 0;  ///< given to `write` by this rank
  double run_s = 0;          ///< since the output was made
  double call_s = 0;         ///< inside calls: what the simulation saw of its output
  double agree_s = 0;        ///< of it, waiting for the other ranks of the call
  double copy_s = 0;         ///< of it, laying files out and copying into staging memory
  double room_s = 0;         ///< of it, waiting for room in staging memory
  double end_s = 0;          ///< of it, waiting for files to be complete: in `finish`, and in
                             ///< `write` where nothing is written in the background
  double write_s = 0;        ///< spent writing: this rank's writer; the busiest server
  /// Processor time of writing and products: of this rank's writer with the threads that help it;
  /// of the only server, counted on rank 0. NaN, not known, where several servers write together.
  double writer_cpu_s = 0;
  std::ptrdiff_t written_bytes = 0;  ///< by this rank's writer; what servers wrote counts on rank 0
  std::int64_t writes = 0;           ///< system calls that wrote; not counted on servers
  std::int64_t opens = 0;            ///< files opened for writing; not counted on servers
  double slowest_s = 0;              ///< longest time from `write` until the step was safe on disk
  std::int64_t slowest_step = -1;

  /// Time that the simulation stood still for want of a finished write: `room_s` + `end_s`.
  double stall_s() const { return room_s + end_s; }
  /// Time of writing that the simulation did not wait for.
  double hidden_s() const { return write_s > stall_s() ? write_s - stall_s() : 0; }
  /// Share of all work for output (copying and writing) that the simulation did not see, 0 to 1:
  /// `hidden_s` over `copy_s` + `write_s`; 1 if there was no work.
  double hidden_fraction() const;
  /// For people: what output has cost the simulation, the outcome of the steps, the speed of
  /// writes.
  std::string describe() const;
  /// Of all ranks of `comm`: sums of bytes, system calls and processor time, the longest times, the
  /// most steps.
  /// Collective, blocking.
  OutputStatistics over_ranks(const Comm& comm) const;
};

}  // namespace tailrace
