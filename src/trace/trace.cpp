// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/trace.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tailrace {

// Not MPI_Wtime, which MPICH refuses where there is no MPI: in a process of servers, and in threads
// that outlive it. Simulated ranks have the simulator's clock.
double now_s() {
#ifdef SMPI_H
  return MPI_Wtime();
#else
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
#endif
}

Trace::Trace(std::size_t capacity) : spans_(capacity) {}

void Trace::record(Activity activity, const char* name, double start_s, double end_s, int track) {
  if (spans_.empty()) return;
  const auto line = static_cast<std::size_t>(std::clamp(track, 0, 1));
  total_ns_[line][static_cast<std::size_t>(activity)].fetch_add(
      std::llround((end_s - start_s) * 1e9), std::memory_order_relaxed);
  const std::size_t place = used_.fetch_add(1, std::memory_order_relaxed);
  if (place >= spans_.size()) return;
  Entry& entry = spans_[place];
  entry.start_s = start_s;
  entry.end_s = end_s;
  entry.activity = activity;
  entry.track = static_cast<std::int8_t>(line);
  entry.name.store(name, std::memory_order_release);
}

double Trace::total_s(Activity activity, int track) const {
  const auto line = static_cast<std::size_t>(std::clamp(track, 0, 1));
  return 1e-9 * static_cast<double>(total_ns_[line][static_cast<std::size_t>(activity)].load(
                    std::memory_order_relaxed));
}

Span::Span(Trace* trace, Activity activity, const char* name, int track)
    : trace_(trace),
      name_(name),
      start_s_(trace != nullptr ? now_s() : 0),
      activity_(activity),
      track_(track) {}

Span::~Span() {
  if (trace_ != nullptr) trace_->record(activity_, name_, start_s_, now_s(), track_);
}

}  // namespace tailrace
