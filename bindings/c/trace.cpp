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

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

int tailrace_trace_create(int64_t capacity, tailrace_trace** trace) {
  return guarded(__func__, [&] {
    require_address(trace, "trace");
    require(capacity >= 0, "capacity must not be negative");
    put(trace, std::make_shared<Trace>(static_cast<std::size_t>(capacity)));
  });
}

int tailrace_trace_destroy(tailrace_trace** trace) {
  return guarded(__func__, [&] {
    require_address(trace, "trace");
    end(trace);
  });
}

int tailrace_trace_record(tailrace_trace* trace, int activity, const char* name, double start_s,
                          double end_s, int track) {
  return guarded(__func__, [&] {
    const auto kept = get(trace);
    check_track(track);
    require(std::isfinite(start_s) && std::isfinite(end_s), "start_s and end_s must be numbers");
    kept->record(activity_of(activity), lasting(text(name, "name")), start_s, end_s, track);
  });
}

int tailrace_trace_total_s(const tailrace_trace* trace, int activity, int track, double* seconds) {
  return guarded(__func__, [&] {
    require_address(seconds, "seconds");
    check_track(track);
    *seconds = get(trace)->total_s(activity_of(activity), track);
  });
}

int tailrace_trace_write(const tailrace_trace* trace, const tailrace_comm* comm, const char* path) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    std::shared_ptr<Trace> kept;
    prepare_together(*ranks, [&] {
      kept = get(trace);
      require(!text(path, "path").empty(), "path is empty");
    });
    kept->write(*ranks, path);
  });
}

double tailrace_now_s(void) { return now_s(); }
