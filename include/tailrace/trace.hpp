// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Kind of work in a time span; each kind has a colour in the report's timeline.
enum class Activity : std::uint8_t { compute, transfer, write, wait };

/// The spans of one rank. The constructor reserves storage; when that is full, further spans are
/// counted but not kept. Several threads may call `record` concurrently, also during `write`.
class Trace {
 public:
  /// Keeps up to `capacity` spans; 0 turns tracing off at no cost.
  explicit Trace(std::size_t capacity = 0);
  /// Keeps one span. `name` must be a string literal (not copied). `track` is 0 for the rank's main
  /// thread, 1 for its writer. Times are seconds of `now_s()`. Local, lock-free.
  void record(Activity activity, const char* name, double start_s, double end_s, int track = 0);
  /// Seconds recorded for `activity` on `track`, including spans that were not kept. Local.
  double total_s(Activity activity, int track = 0) const;
  /// Writes the spans of all ranks as one Chrome/Perfetto JSON file on rank 0: pid = rank, tid =
  /// track, cat = activity, times in microseconds since the first span of any rank (clocks aligned
  /// with that of rank 0); `otherData` contains num_ranks and the number of dropped spans. The file
  /// gets its name when it is complete. Collective, blocking. Throws `Errc::io` on all ranks.
  void write(const Comm& comm, const std::string& path) const;

 private:
  struct Entry {
    std::atomic<const char*> name{nullptr};  // set last: null = not filled yet
    double start_s = 0, end_s = 0;
    Activity activity = Activity::compute;
    std::int8_t track = 0;
  };
  std::string to_json(int rank, double shift_s, double first_s) const;

  std::vector<Entry> spans_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::int64_t> total_ns_[2][4] = {};
};

/// Records its lifetime as one span; with a null trace it records nothing.
class Span {
 public:
  Span(Trace* trace, Activity activity, const char* name, int track = 0);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Trace* trace_;
  const char* name_;
  double start_s_;
  Activity activity_;
  int track_;
};

/// Time of the library's clock [s]: steady, and common to all processes of a node. Local.
double now_s();

}  // namespace tailrace
