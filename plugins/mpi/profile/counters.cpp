// SPDX-License-Identifier: BSD-3-Clause
#include "profile/counters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>

#include <cstring>

namespace tailrace::plugins {
namespace {

struct Counter {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
  int file = -1;
};
std::array<Counter, max_counters> counters{{
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"task_clock_ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
}};
int missing = 0;  // errno of the first counter of the processor that cannot be had
Counts at_start{};

int open_counter(const Counter& counter) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = counter.type;
  wanted.config = counter.config;
  wanted.inherit = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int this_process = 0;
  constexpr int any_processor = -1;
  constexpr int no_group = -1;
  return static_cast<int>(syscall(SYS_perf_event_open, &wanted, this_process, any_processor,
                                  no_group, PERF_FLAG_FD_CLOEXEC));
}

// Where there are more events than counters the kernel counts them in turn: scaled to all the time.
std::uint64_t read_counter_of(int file) {
  std::uint64_t value_enabled_running[3] = {};
  const long n = syscall(SYS_read, file, value_enabled_running, sizeof value_enabled_running);
  if (n != sizeof value_enabled_running) return 0;
  const auto [value, enabled, running] = value_enabled_running;
  if (running == 0 || running >= enabled) return value;
  return static_cast<std::uint64_t>(static_cast<double>(value) * static_cast<double>(enabled) /
                                    static_cast<double>(running));
}

}  // namespace

void open_counters() {
  const int error = errno;
  for (Counter& counter : counters) {
    counter.file = open_counter(counter);
    if (counter.file < 0 && counter.type == PERF_TYPE_HARDWARE && missing == 0) missing = errno;
  }
  errno = error;
  at_start = read_counters();
}

Counts read_counters() {
  Counts counts{};
  for (std::size_t i = 0; i < counters.size(); ++i)
    if (counters[i].file >= 0) counts[i] = read_counter_of(counters[i].file);
  return counts;
}

void add_difference(Counts& sum, const Counts& end, const Counts& begin) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    if (end[i] > begin[i]) sum[i] += end[i] - begin[i];
}

void print_counts(Writer& out, const Counts& counts) {
  const char* comma = "";
  out.print("[");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counters[i].file < 0) continue;
    out.print("%s%llu", comma, static_cast<unsigned long long>(counts[i]));
    comma = ", ";
  }
  out.print("]");
}

void print_counters(Writer& out, const Counts& end) {
  const char* comma = "";
  out.print("\"counters\": {\"missing\": ");
  out.text(missing == 0 ? "" : strerrordesc_np(missing));
  out.print(", \"names\": [");
  for (const Counter& counter : counters) {
    if (counter.file < 0) continue;
    out.print("%s\"%s\"", comma, counter.name);
    comma = ", ";
  }
  Counts counts{};
  add_difference(counts, end, at_start);
  out.print("], \"counts\": ");
  print_counts(out, counts);
  out.print("},\n");
}

}  // namespace tailrace::plugins
