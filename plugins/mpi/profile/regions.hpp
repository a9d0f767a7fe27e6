// SPDX-License-Identifier: BSD-3-Clause
// Regions that the program names: by tailrace/c/region.h or by MPI_Pcontrol.
//
// MPI_Pcontrol(1, "name") begins a region and MPI_Pcontrol(-1, "name") ends it, as other tools have
// it; without a name, which Fortran cannot give, levels 2 and above begin a region that their
// negative ends. Level 0, and 1 without a name, change nothing. The main thread's alone count.
#pragma once
#include "profile/counters.hpp"
#include "profile/recorder.hpp"

namespace tailrace::plugins {

constexpr unsigned max_regions = 128;

struct Region {
  char name[64] = {};
  int parent = -1;  // index of the region it lies in
  std::uint64_t count = 0;
  Tick ticks = 0;
  Tick mpi_ticks = 0;
  Counts counts{};
};

unsigned num_regions();
const Region& region_at(unsigned i);
// Begins without room, ends without a begin.
std::uint64_t lost_regions();
// Ends what is open, at the end of the record.
void end_regions(Tick end, const Counts& counts);

}  // namespace tailrace::plugins
