// SPDX-License-Identifier: BSD-3-Clause
// What SMPI's windows lack, put in by the linker's --wrap: the attribute that tells their memory
// model; memory that can be folded (SMPI copies the data of each read at once, and with thousands
// of ranks holds all of it); and the time that a processor takes to start a read, which SMPI knows
// for messages only.
#include <cstdlib>
#include <set>

#include <mpi.h>

#include "payload.hpp"

namespace {

/// Windows of this rank whose memory is folded. (SMPI gives each rank globals of its own.)
std::set<MPI_Win>& folded_windows() {
  static std::set<MPI_Win> windows;
  return windows;
}

}  // namespace

extern "C" {

int __real_MPI_Win_get_attr(MPI_Win win, int key, void* value, int* found);
int __real_MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* win);
int __real_MPI_Rget(void* to, int count, MPI_Datatype type, int rank, MPI_Aint from, int from_count,
                    MPI_Datatype from_type, MPI_Win win, MPI_Request* request);

int __wrap_MPI_Win_get_attr(MPI_Win win, int key, void* value, int* found) {
  static int unified = MPI_WIN_UNIFIED;
  if (key != MPI_WIN_MODEL) return __real_MPI_Win_get_attr(win, key, value, found);
  *static_cast<int**>(value) = &unified;
  *found = 1;
  return MPI_SUCCESS;
}

// A small window is real: it may hold what a rank wants to know.
int __wrap_MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* win) {
  constexpr MPI_Aint small = 1024;
  MPI_Aint most = bytes;
  if (scale::payload_is_folded()) {
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_AINT, MPI_MAX, comm);
  }
  if (!scale::payload_is_folded() || most <= small) {
    const int status = __real_MPI_Win_allocate(bytes, unit, info, comm, base, win);
    folded_windows().erase(*win);  // an earlier one may have had this handle
    return status;
  }
  *static_cast<void**>(base) = scale::folded_memory(bytes);
  const int status = MPI_Win_create_dynamic(info, comm, win);
  folded_windows().insert(*win);
  static char attached = 0;
  return status != MPI_SUCCESS || bytes == 0 ? status : MPI_Win_attach(*win, &attached, bytes);
}

// Of a folded window: from address 0, where SMPI finds nothing to copy but takes the time of it.
int __wrap_MPI_Rget(void* to, int count, MPI_Datatype type, int rank, MPI_Aint from, int from_count,
                    MPI_Datatype from_type, MPI_Win win, MPI_Request* request) {
  constexpr double flops_per_s = 1e10;  // of the machines' nodes
  const char* overhead = std::getenv("TAILRACE_READ_OVERHEAD_S");
  const double overhead_s = overhead == nullptr ? 0 : std::atof(overhead);
  if (overhead_s > 0) smpi_execute_flops(overhead_s * flops_per_s);
  if (folded_windows().contains(win)) from = 0;
  return __real_MPI_Rget(to, count, type, rank, from, from_count, from_type, win, request);
}

}  // extern "C"
