// SPDX-License-Identifier: BSD-3-Clause
#include "profile/ticks.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "chooser/environment.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tailrace::plugins {

bool uses_counter = false;

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

bool kernel_trusts(const char* counter) {
  char names[256] = {};
  const int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, names, sizeof names - 1);
  close(fd);
  if (n <= 0) return false;
  char* rest = nullptr;
  for (char* name = strtok_r(names, " \n", &rest); name != nullptr;
       name = strtok_r(nullptr, " \n", &rest))
    if (std::strcmp(name, counter) == 0) return true;
  return false;
}

bool counter_is_clock() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned invariant = 1U << 8U;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & invariant) != 0 &&
         kernel_trusts("tsc");
#elif defined(__aarch64__)
  return kernel_trusts("arch_sys_counter");
#else
  return false;
#endif
}

// The least time of a few reads [ns]; `never` for a clock that goes backwards.
template <class Read>
std::uint64_t cost_ns(const Read& read) {
  std::uint64_t best = never;
  for (int round = 0; round < 5; ++round) {
    const std::uint64_t begin = monotonic_ns();
    Tick last = read();
    for (int i = 0; i < 31; ++i) {
      const Tick next = read();
      if (next < last) return never;
      last = next;
    }
    const std::uint64_t taken = monotonic_ns() - begin;
    if (taken < best) best = taken;
  }
  return best;
}

}  // namespace

std::uint64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
}

void choose_clock() {
  const char* const old =
      renamed_environment("TAILRACE_PROFILE_CLOCK", "TAILRACE_PROFILE=clock=kernel");
  const auto asked = value_of_word(environment("TAILRACE_PROFILE"), "clock");
  const bool asks_kernel = asked.value_or(old == nullptr ? "" : old) == "kernel";
  uses_counter =
      !asks_kernel && counter_is_clock() && cost_ns(read_counter) < cost_ns(monotonic_ns);
}

// The reading of the other clock that came fastest, in the middle of the two around it.
Instant this_instant() {
  Instant best;
  Tick least = never;
  for (int i = 0; i < 8; ++i) {
    const Tick before = now();
    const std::uint64_t ns = monotonic_ns();
    const Tick after = now();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, ns};
  }
  return best;
}

}  // namespace tailrace::plugins
