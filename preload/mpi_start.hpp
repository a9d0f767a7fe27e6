// SPDX-License-Identifier: BSD-3-Clause
// The start of MPI, for libraries that are put before that of MPI.
#pragma once
#include <mpi.h>

namespace tailrace::preload {

// Called by the wrappers of MPI_Init in mpi_start.cpp when MPI has started; each library has its
// own. Collective over MPI_COMM_WORLD.
void mpi_started();

// The function of that name behind ours: another library's that is put before MPI, or MPI's.
// Ends the process with a line if there is none.
void* next_symbol(const char* name);  // fortran.cpp
// Makes MPI's symbols visible where an extension of Python has opened the library privately.
void show_mpi();  // fortran.cpp

// Whether all ranks of a communicator are in MPI_COMM_WORLD, and it has one group. Local.
bool is_of_this_world(MPI_Comm comm);

}  // namespace tailrace::preload
