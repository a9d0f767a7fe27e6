// SPDX-License-Identifier: BSD-3-Clause
#include "common/mpi_start.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tailrace/more/launched_alone.hpp"

namespace tailrace::plugins {

bool is_of_this_world(MPI_Comm comm) {
  int is_inter = 0;
  if (PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0) return false;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int ranks = 0;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, &ranks);
  std::vector<int> own(static_cast<std::size_t>(ranks));
  std::vector<int> there(own.size());
  for (int i = 0; i < ranks; ++i) own[static_cast<std::size_t>(i)] = i;
  PMPI_Group_translate_ranks(group, ranks, own.data(), world, there.data());
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end();
}

namespace {

bool has_world = false;
bool has_session = false;

__attribute__((destructor)) void at_exit() {
  if (has_session && !has_world) only_sessions();
}

[[maybe_unused]] int session_started(int code) {
  if (code == MPI_SUCCESS) has_session = true;
  return code;
}

// Fortran's MPI_Init may call C's: one line all the same.
void tell_if_launched_alone() {
  static const bool once = [] {
    const auto [why, speaks] = tailrace::launched_alone();
    if (!why.empty() && speaks) std::fprintf(stderr, "tailrace: %s\n", why.c_str());
    return true;
  }();
  static_cast<void>(once);
}

// Calls Fortran's function `next`; its code is what it leaves in `error`, which is optional in
// mpi_f08.
template <class... Words>
int call_fortran(void* next, void* error, Words... words) {
  int own_error = MPI_SUCCESS;
  int* const code = error != nullptr ? static_cast<int*>(error) : &own_error;
  reinterpret_cast<void (*)(Words..., int*)>(next)(words..., code);
  return *code;
}

int world_started(int code) {
  if (code != MPI_SUCCESS) return code;
  has_world = true;
  tell_if_launched_alone();
  mpi_started();
  return code;
}

}  // namespace

void say_only_sessions(const char* library, const char* what) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr && std::strcmp(rank, "0") != 0) return;
  }
  std::fprintf(stderr,
               "tailrace %s: the program starts MPI by sessions (MPI_Session_init) alone; %s needs "
               "MPI_Init\n",
               library, what);
}

}  // namespace tailrace::plugins

using namespace tailrace::plugins;

extern "C" {
#pragma GCC visibility push(default)

int MPI_Init(int* argc, char*** argv) {
  show_mpi();
  return world_started(TAILRACE_NEXT(MPI_Init)(argc, argv));
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  show_mpi();
  return world_started(TAILRACE_NEXT(MPI_Init_thread)(argc, argv, required, provided));
}

#if MPI_VERSION >= 4
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  show_mpi();
  return session_started(TAILRACE_NEXT(MPI_Session_init)(info, handler, session));
}
#endif

// Fortran's names: those of Open MPI, and `use mpi_f08` of all, do not call C's.
#define TAILRACE_INIT(name)                                 \
  void name(void* error) {                                  \
    show_mpi();                                             \
    world_started(call_fortran(next_symbol(#name), error)); \
  }
#define TAILRACE_INIT_THREAD(name)                                              \
  void name(void* required, void* provided, void* error) {                      \
    show_mpi();                                                                 \
    world_started(call_fortran(next_symbol(#name), error, required, provided)); \
  }

TAILRACE_INIT(mpi_init_)
TAILRACE_INIT(mpi_init_f08_)
TAILRACE_INIT_THREAD(mpi_init_thread_)
TAILRACE_INIT_THREAD(mpi_init_thread_f08_)
}
