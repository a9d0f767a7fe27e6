// SPDX-License-Identifier: BSD-3-Clause
// Which instructions the threads of this process spend processor time in, sampled: for the
// routines of the profile (TAILRACE_PROFILE=routines=RATE).
//
// Each thread has a timer of the kernel that counts its own processor time. It interrupts that
// thread by a real-time signal that the program does not use, so the program keeps SIGPROF,
// setitimer and timer_create. The handler counts the interrupted instruction in a table of the
// thread. Nothing is allocated by the heap or locked in it, and its own time is measured.
//
// Memory: 64 KiB for each thread, touched as it is used; more where the samples have more than
// 3072 different instructions.
#pragma once
#include <csignal>

#include "profile/recorder.hpp"
#include "profile/writer.hpp"

namespace tailrace::plugins {

constexpr unsigned max_sampled_threads = 1024;

// Starts sampling `per_s` times in a second of each thread's processor time, at most as often as
// the kernel's clock ticks, in all threads of the process; the calling one is the main thread.
void start_samples(long long per_s);
// Ends sampling. Safe in a signal handler.
void stop_samples();
// Whether threads that start now are to be sampled.
bool samples_threads();
// A thread starts and calls this; sampling it ends with the thread.
void sample_this_thread();
// The signal of the timers; 0 before the start.
int signal_of_samples();
// Writes what was sampled; nothing where sampling was not asked for.
void print_samples(Writer& out);

}  // namespace tailrace::plugins
