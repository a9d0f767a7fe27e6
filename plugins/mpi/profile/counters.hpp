// SPDX-License-Identifier: BSD-3-Clause
// The kernel's counters of this rank, where it gives them: of the thread that called MPI_Init and
// of all threads and processes begun since, in user space.
#pragma once
#include <array>
#include <cstdint>

#include "profile/writer.hpp"

namespace tailrace::plugins {

constexpr int max_counters = 4;
using Counts = std::array<std::uint64_t, max_counters>;

// In MPI_Init: begins to count what may be counted. What may not is no error.
void open_counters();
// Counts so far, in the order of print_counters; a system call for each counter there is.
Counts read_counters();
void add_difference(Counts& sum, const Counts& end, const Counts& begin);
// What there is since MPI_Init, by name, and why the processor's are missing.
void print_counters(Writer& out, const Counts& end);
// The values of `counts` that there are, as a list.
void print_counts(Writer& out, const Counts& counts);

}  // namespace tailrace::plugins
