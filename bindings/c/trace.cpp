// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/trace.hpp"

#include <cmath>
#include <mutex>
#include <set>

#include "objects.hpp"

namespace tailrace::c {

namespace {

/// A copy of a name that stays as long as the process, as a `Trace` needs it.
const char* lasting(const std::string& name) {
  static auto* const names = new std::set<std::string>;
  static auto* const mutex = new std::mutex;
  const std::scoped_lock lock(*mutex);
  return names->insert(name).first->c_str();
}

Activity activity_of(int activity) { return enumerator<Activity>(activity, 4, "activity"); }

void check_track(int track) { require(track == 0 || track == 1, "track must be 0 or 1"); }

Made<tailrace_trace> trace_create(int64_t capacity) {
  require(capacity >= 0, "capacity must not be negative");
  return std::make_shared<Trace>(static_cast<std::size_t>(capacity));
}

void trace_record(Ref<tailrace_trace> kept, int activity, const char* name, double start_s,
                  double end_s, int track) {
  check_track(track);
  require(std::isfinite(start_s) && std::isfinite(end_s), "start_s and end_s must be numbers");
  kept->record(activity_of(activity), lasting(text(name, "name")), start_s, end_s, track);
}

double trace_total_s(Ref<tailrace_trace> trace, int activity, int track) {
  check_track(track);
  return trace->total_s(activity_of(activity), track);
}

void trace_write(const tailrace_trace* trace, const tailrace_comm* comm, const char* path) {
  const auto ranks = get(comm);
  std::shared_ptr<Trace> kept;
  prepare_together(*ranks, [&] {
    kept = get(trace);
    require(!text(path, "path").empty(), "path is empty");
  });
  kept->write(*ranks, path);
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;

double tailrace_now_s(void) { return now_s(); }

#include "calls/trace.inc"
