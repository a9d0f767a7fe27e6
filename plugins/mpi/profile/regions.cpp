// SPDX-License-Identifier: BSD-3-Clause
#include "profile/regions.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "profile/wrapper.hpp"
#include "tailrace/c/region.h"

namespace tailrace::plugins {

__thread std::uint8_t region_here = 0;

namespace {

struct Open {
  unsigned region = 0;
  Tick begin = 0;
  Tick mpi_before = 0;
  Counts counts_before{};
};

Region regions[max_regions];
unsigned count = 0;
Open open_ones[64];
unsigned num_open = 0;
std::uint64_t lost = 0;
__thread bool is_in_fortran = false;

Tick ticks_in_mpi() {
  Tick sum = 0;
  for (const Tick ticks : windows.ticks) sum += ticks;
  return sum;
}

bool is_main() { return my_thread != nullptr && my_thread->is_main && my_thread->depth == 0; }

int innermost() { return num_open == 0 ? -1 : static_cast<int>(open_ones[num_open - 1].region); }

void begin_region(const char* name) {
  const int parent = innermost();
  unsigned i = 0;
  while (i < count && (regions[i].parent != parent ||
                       std::strncmp(regions[i].name, name, sizeof regions[i].name - 1) != 0))
    ++i;
  if (i == max_regions || num_open == sizeof open_ones / sizeof open_ones[0]) {
    ++lost;
    return;
  }
  if (i == count) {
    std::snprintf(regions[i].name, sizeof regions[i].name, "%s", name);
    regions[i].parent = parent;
    ++count;
  }
  region_here = static_cast<std::uint8_t>(i + 1);
  const Counts counts = read_counters();
  open_ones[num_open++] = {i, now(), ticks_in_mpi(), counts};
}

void end_innermost(Tick end, const Counts& counts) {
  const Open one = open_ones[--num_open];
  Region& region = regions[one.region];
  ++region.count;
  region.ticks += end - one.begin;
  region.mpi_ticks += ticks_in_mpi() - one.mpi_before;
  add_difference(region.counts, counts, one.counts_before);
  region_here = static_cast<std::uint8_t>(innermost() + 1);
}

void end_region(const char* name) {
  const Tick end = now();
  const auto is_named = [&](const Open& one) {
    const Region& region = regions[one.region];
    return std::strncmp(region.name, name, sizeof region.name - 1) == 0;
  };
  unsigned at = num_open;
  while (at > 0 && !is_named(open_ones[at - 1])) --at;
  if (at == 0) {
    ++lost;
    return;
  }
  const Counts counts = read_counters();
  while (num_open >= at) end_innermost(end, counts);
}

// Copies a name from an address that may be none, as the program may have given only a level.
bool copy_name(const char* from, char (&name)[64]) {
  if (reinterpret_cast<std::uintptr_t>(from) < 4096) return false;
  constexpr std::size_t page = 4096;
  std::size_t have = 0;
  while (have < sizeof name - 1 && (have == 0 || std::memchr(name, '\0', have) == nullptr)) {
    const auto at = reinterpret_cast<std::uintptr_t>(from) + have;
    const std::size_t size = std::min(sizeof name - 1 - have, page - at % page);
    const iovec here{name + have, size};
    const iovec there{reinterpret_cast<void*>(at), size};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(size)) break;
    have += size;
  }
  name[have] = '\0';
  for (const char* c = name; *c != '\0'; ++c)
    if (*c < ' ' || *c > '~') return false;
  return name[0] != '\0';
}

// A region of a level, or of the name that follows it.
void control(int level, const char* given) {
  if (!state.on.load(std::memory_order_relaxed) || !is_main()) return;
  const int error = errno;
  const bool begins = level > 0;
  char name[64] = {};
  if (level == TAILRACE_REGION_LEVEL || level == -TAILRACE_REGION_LEVEL) {
    std::snprintf(name, sizeof name, "%s", given != nullptr ? given : "");
  } else if (level == 1 || level == -1) {
    if (given == nullptr || !copy_name(given, name)) name[0] = '\0';
  } else if (level != 0) {
    std::snprintf(name, sizeof name, "level %d", begins ? level : -level);
  }
  if (name[0] != '\0') begins ? begin_region(name) : end_region(name);
  errno = error;
}

// Fortran's call reaches C's in some MPI libraries: only one of them counts.
template <class Call>
void control_from_fortran(const void* level, const Call& call) {
  control(*static_cast<const int*>(level), nullptr);
  const bool was = is_in_fortran;
  is_in_fortran = true;
  call();
  is_in_fortran = was;
}

}  // namespace

unsigned num_regions() { return count; }
const Region& region_at(unsigned i) { return regions[i]; }
std::uint64_t lost_regions() { return lost; }
void end_regions(Tick end, const Counts& counts) {
  while (num_open > 0) end_innermost(end, counts);
}

}  // namespace tailrace::plugins

using namespace tailrace::plugins;

extern "C" {
#pragma GCC visibility push(default)

int MPI_Pcontrol(const int level, ...) {
  va_list more;
  va_start(more, level);
  const void* words[4];  // what follows is passed on unread: at most as many as lie in registers
  for (const void*& word : words) word = va_arg(more, const void*);
  va_end(more);
  if (!is_in_fortran && level != 0) control(level, static_cast<const char*>(words[0]));
  return TAILRACE_NEXT(MPI_Pcontrol)(level, words[0], words[1], words[2], words[3]);
}

// MPICH has an error code here, of which the standard says nothing: it goes on as it came.
void mpi_pcontrol_(void* level, void* error) {
  using Real = void (*)(void*, void*);
  static const Real real = reinterpret_cast<Real>(next_symbol("mpi_pcontrol_"));
  control_from_fortran(level, [&] { real(level, error); });
}

void mpi_pcontrol_f08_(void* level, void* error) {
  using Real = void (*)(void*, void*);
  static const Real real = reinterpret_cast<Real>(next_symbol("mpi_pcontrol_f08_"));
  control_from_fortran(level, [&] { real(level, error); });
}
}
