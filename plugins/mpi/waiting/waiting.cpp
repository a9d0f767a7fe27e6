// SPDX-License-Identifier: BSD-3-Clause
// Whether calls nap.
#include "waiting/waiting.hpp"
#include "chooser/environment.hpp"

#include <sched.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tailrace::plugins {

bool naps = false;
std::atomic<unsigned long> num_napping{0};
std::atomic<unsigned long> num_passed_on{0};

namespace {

bool started = false;

bool library_is(const char* start) {
  char name[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(name, &length);
  return std::strncmp(name, start, std::strlen(start)) == 0;
}

// The scheduling group of this process; 0 where there are none.
long scheduling_group() {
  long group = 0;
  int on = 0;
  if (std::FILE* file = std::fopen("/proc/sys/kernel/sched_autogroup_enabled", "re")) {
    if (std::fscanf(file, "%d", &on) != 1) on = 0;
    std::fclose(file);
  }
  if (on == 0) return 0;
  if (std::FILE* file = std::fopen("/proc/self/autogroup", "re")) {
    if (std::fscanf(file, "/autogroup-%ld", &group) != 1) group = 0;
    std::fclose(file);
  }
  return group;
}

// MPI_COMM_SELF's attribute is deleted by MPI_Finalize, in any language.
int end_of_mpi(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  end_napping_comms();
  const char* wanted = environment("TAILRACE_REPORT", "TAILRACE_WAIT_REPORT");
  if (wanted == nullptr || std::strcmp(wanted, "") == 0 || std::strcmp(wanted, "0") == 0) {
    return MPI_SUCCESS;
  }
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::fprintf(stderr, "tailrace wait: %s; rank 0: %lu calls slept, %lu left to MPI\n",
                 naps ? "sleeps" : "as MPI does", num_napping.load(), num_passed_on.load());
  }
  return MPI_SUCCESS;
}

// More ranks on the node than cores that they may use, and yielding does not help.
bool should_nap(MPI_Comm node) {
  int ranks = 0;
  PMPI_Comm_size(node, &ranks);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return false;
  PMPI_Allreduce(MPI_IN_PLACE, &cores, sizeof cores, MPI_BYTE, MPI_BOR, node);
  long groups[2] = {scheduling_group(), 0};
  groups[1] = -groups[0];
  PMPI_Allreduce(MPI_IN_PLACE, groups, 2, MPI_LONG, MPI_MAX, node);
  const bool yield_works = groups[0] == -groups[1];
  return ranks > CPU_COUNT(&cores) && !(yield_works && library_is("Open MPI"));
}

}  // namespace

void only_sessions() { say_only_sessions("wait", "napping"); }

void mpi_started() {
  if (started) return;
  started = true;
  MPI_Comm node = MPI_COMM_NULL;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int wanted = should_nap(node) ? 1 : 0;
  PMPI_Comm_free(&node);
  const char* text = environment("TAILRACE_WAIT");
  constexpr std::array<std::string_view, 2> words{"mpi", "nap"};
  report_ignored("TAILRACE_WAIT", unknown_word(text, words), "nap or mpi");
  int given = value_of_word(text, "nap") ? 1 : value_of_word(text, "mpi") ? 0 : -1;
  PMPI_Bcast(&given, 1, MPI_INT, 0, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (given >= 0) wanted = given;
  naps = wanted != 0;
  if (naps) start_napping_comms();
  int at_end = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_of_mpi, &at_end, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, at_end, nullptr);
}

}  // namespace tailrace::plugins
