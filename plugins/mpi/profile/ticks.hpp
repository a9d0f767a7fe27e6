// SPDX-License-Identifier: BSD-3-Clause
// The recorder's clock: a counter of the processor where it serves as one, else CLOCK_MONOTONIC.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tailrace::plugins {

using Tick = std::uint64_t;

// CLOCK_MONOTONIC [ns].
std::uint64_t monotonic_ns();

// Chooses what `now` reads: the counter if the kernel has it among its clock sources, where it
// stays only as long as it runs evenly and alike on all processors, if it does not stop in sleep
// states, and if it is the cheaper one, as a virtual machine may intercept it. With
// TAILRACE_PROFILE=clock=kernel never.
void choose_clock();
extern bool uses_counter;

inline Tick read_counter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  Tick ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

inline Tick now() { return uses_counter ? read_counter() : monotonic_ns(); }

// The same moment on both clocks; the first and the last one of a run give a tick's length.
struct Instant {
  Tick tick = 0;
  std::uint64_t ns = 0;
};
Instant this_instant();

}  // namespace tailrace::plugins
