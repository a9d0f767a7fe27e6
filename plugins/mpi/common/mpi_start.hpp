// SPDX-License-Identifier: BSD-3-Clause
// The start of MPI, for libraries that are put before that of MPI.
#pragma once
#include <mpi.h>

namespace tailrace::plugins {

// Called by the wrappers of MPI_Init in mpi_start.cpp when MPI has started; each library has its
// own. Collective over MPI_COMM_WORLD.
void mpi_started();

// Called at the end of a process that started MPI by sessions alone: without MPI_COMM_WORLD there
// is nothing that all its ranks could agree on. Each library has its own.
void only_sessions();
// The line that says so, from one process of the job.
void say_only_sessions(const char* library, const char* what);

// The function of that name behind ours: another library's that is put before MPI, or MPI's.
// Ends the process with a line if there is none.
void* next_symbol(const char* name);  // fortran.cpp
// That function as an expression, looked up once: what a program calls passes all libraries that
// are put before MPI, also those of other tools; PMPI_x would hide it from them.
#define TAILRACE_NEXT(name)                                                            \
  ([] {                                                                                \
    static const auto next_one =                                                       \
        reinterpret_cast<decltype(&P##name)>(::tailrace::plugins::next_symbol(#name)); \
    return next_one;                                                                   \
  }())
// Makes MPI's symbols visible where an extension of Python has opened the library privately.
void show_mpi();  // fortran.cpp

// Whether all ranks of a communicator are in MPI_COMM_WORLD, and it has one group. Local.
bool is_of_this_world(MPI_Comm comm);

}  // namespace tailrace::plugins
