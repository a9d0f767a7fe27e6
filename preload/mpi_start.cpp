// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_start.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/launched_alone.hpp"

namespace tailrace::preload {

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

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
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

void start() {
  tell_if_launched_alone();
  mpi_started();
}

}  // namespace
}  // namespace tailrace::preload

using namespace tailrace::preload;

extern "C" {
#pragma GCC visibility push(default)

int MPI_Init(int* argc, char*** argv) {
  show_mpi();
  const auto init = next<int (*)(int*, char***)>("MPI_Init");
  const int code = init != nullptr ? init(argc, argv) : PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) start();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  show_mpi();
  const auto init = next<int (*)(int*, char***, int, int*)>("MPI_Init_thread");
  const int code = init != nullptr ? init(argc, argv, required, provided)
                                   : PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) start();
  return code;
}

// Of MPICH's mpi_f08, which does not call C's; its other calls do.
// Fortran's names: those of Open MPI, and `use mpi_f08` of all, do not call C's.
#define TAILRACE_INIT(name)                                \
  void name(void* error) {                                 \
    show_mpi();                                            \
    const auto init = next<void (*)(void*)>(#name);        \
    if (init == nullptr) return;                           \
    int own = MPI_SUCCESS;                                 \
    if (error == nullptr) error = &own;                    \
    init(error);                                           \
    if (*static_cast<int*>(error) == MPI_SUCCESS) start(); \
  }
#define TAILRACE_INIT_THREAD(name)                                \
  void name(void* required, void* provided, void* error) {        \
    show_mpi();                                                   \
    const auto init = next<void (*)(void*, void*, void*)>(#name); \
    if (init == nullptr) return;                                  \
    int own = MPI_SUCCESS;                                        \
    if (error == nullptr) error = &own;                           \
    init(required, provided, error);                              \
    if (*static_cast<int*>(error) == MPI_SUCCESS) start();        \
  }

TAILRACE_INIT(mpi_init_)
TAILRACE_INIT(mpi_init_f08_)
TAILRACE_INIT_THREAD(mpi_init_thread_)
TAILRACE_INIT_THREAD(mpi_init_thread_f08_)
}
