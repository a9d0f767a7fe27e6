// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tailrace/comm.hpp"

namespace tailrace {

/// What output has cost the simulation so far, and the outcome of its steps, for an `Output` with
/// any kind of server. Values are those of this rank unless stated otherwise; `over_ranks` gives
/// those of all ranks.
struct OutputStatistics {
  std::int64_t steps = 0;     ///< calls of `write` that accepted their step
  std::int64_t complete = 0;  ///< steps known to be complete on disk
  std::int64_t dropped = 0, thinned = 0, lowered = 0, spilled = 0, failed = 0;  ///< see `WhenFull`
  std::ptrdiff_t bytes = 0;  ///< bytes passed to `write` by this rank
  double run_s = 0;          ///< time since the output was created
  double call_s = 0;         ///< time in calls: the time that output cost the simulation
  double agree_s = 0;        ///< part of `call_s`: waiting for the other ranks
  double copy_s = 0;         ///< part of `call_s`: laying files out, copying into staging memory
  double room_s = 0;         ///< part of `call_s`: waiting for room in staging memory
  double end_s = 0;          ///< part of `call_s`: waiting for complete files, in `finish`, and in
                             ///< `write` where nothing is written in the background
  double write_s = 0;        ///< writing time of this rank's writer, or of the busiest server
  /// CPU time of writing and products: that of this rank's writer and its helper threads, or of the
  /// only server (counted on rank 0). NaN (unknown) if several servers write together.
  double writer_cpu_s = 0;
  std::ptrdiff_t written_bytes = 0;  ///< bytes that this rank wrote; those of servers: on rank 0
  std::int64_t writes = 0;           ///< system calls that wrote; not counted on servers
  std::int64_t opens = 0;            ///< files opened for writing; not counted on servers
  double slowest_s = 0;              ///< longest time from `write` until the step was safe on disk
  std::int64_t slowest_step = -1;

  /// Time that the simulation waited for unfinished writes: `room_s` + `end_s`.
  double stall_s() const { return room_s + end_s; }
  /// Time of writing for which the simulation did not wait.
  double hidden_s() const { return write_s > stall_s() ? write_s - stall_s() : 0; }
  /// Share of all work for output (copying and writing) that did not delay the simulation, 0 to 1:
  /// `hidden_s` over `copy_s` + `write_s`; 1 if there was no work.
  double hidden_fraction() const;
  /// A text for users: what output has cost the simulation, the outcome of the steps, and the speed
  /// of writes.
  std::string describe() const;
  /// Statistics over all ranks of `comm`: sums of bytes, system calls and CPU time; maxima of times
  /// and steps. Collective, blocking.
  OutputStatistics over_ranks(const Comm& comm) const;
};

}  // namespace tailrace
