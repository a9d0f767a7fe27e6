// SPDX-License-Identifier: BSD-3-Clause
// Occupies the memory bus at a stated rate until its standard input ends: copies past the caches on
// one core, in bursts that keep to a timetable. Other programs then see the slow memory of a
// machine whose cores share less of it. Prints the rate that it reached.
//
//   tailrace-bench bus-load --rate 6e9 [--cpu N]

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "driver.hpp"
#include "programs.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/memory_rates.hpp"

namespace {

constexpr std::ptrdiff_t array_bytes = 64 << 20;  // more than the caches hold
constexpr std::ptrdiff_t burst_bytes = 256 << 10;

bool input_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char spoken[64];
  return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, spoken, sizeof spoken) <= 0;
}

bool stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// Bytes read and written, until the input ends: one burst at least. What is missed by more than a
/// burst is not made up for: later than the timetable means that the bus gives no more.
double occupy(double rate) {
  const tailrace::Buffer from(array_bytes), to(array_bytes);
  const double period_s = 2.0 * static_cast<double>(burst_bytes) / rate;
  double bytes = 0;
  double due = bench::now_s();
  std::ptrdiff_t at = 0;
  do {
    tailrace::copy_past_caches(from.data() + at, to.data() + at, burst_bytes);
    bytes += 2.0 * static_cast<double>(burst_bytes);
    due = std::max(due + period_s, bench::now_s() - period_s);
    while (bench::now_s() < due) {
    }  // a sleep would end too late
    at = (at + burst_bytes) % array_bytes;
  } while (!input_ended());
  return bytes;
}

}  // namespace

int bench::run_bus_load(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const double rate = args.real("rate", 0);
  const int cpu = args.number("cpu", -1);
  if (rate <= 0) {
    std::fprintf(stderr, "tailrace-bench bus-load: --rate must be positive [bytes/s]\n");
    return 2;
  }
  if (cpu >= 0 && !stay_on(cpu)) {
    std::fprintf(stderr, "tailrace-bench bus-load: may not run on processor %d\n", cpu);
    return 2;
  }
  const double start = bench::now_s();
  const double bytes = occupy(rate);
  bench::JsonLine().number("bytes_per_s", bytes / (bench::now_s() - start)).print();
  return 0;
}
