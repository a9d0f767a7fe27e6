// SPDX-License-Identifier: BSD-3-Clause
// The handles of Fortran for MPI 5's ABI, whose header has neither MPI_Fint nor MPI_Comm_f2c: it
// converts integers of C, which a program's Fortran compiler has as its INTEGER.
#pragma once
#include <mpi.h>

#ifdef MPI_ABI_VERSION
#include <cstring>

namespace tailrace::plugins {

using MPI_Fint = int;

inline MPI_Comm PMPI_Comm_f2c(MPI_Fint handle) { return PMPI_Comm_fromint(handle); }
inline MPI_Datatype PMPI_Type_f2c(MPI_Fint handle) { return PMPI_Type_fromint(handle); }
inline MPI_File PMPI_File_f2c(MPI_Fint handle) { return PMPI_File_fromint(handle); }
inline MPI_Request PMPI_Request_f2c(MPI_Fint handle) { return PMPI_Request_fromint(handle); }
inline MPI_Win PMPI_Win_f2c(MPI_Fint handle) { return PMPI_Win_fromint(handle); }
inline MPI_Fint PMPI_File_c2f(MPI_File handle) { return PMPI_File_toint(handle); }
inline MPI_Fint PMPI_Message_c2f(MPI_Message handle) { return PMPI_Message_toint(handle); }
inline MPI_Fint PMPI_Request_c2f(MPI_Request handle) { return PMPI_Request_toint(handle); }

// A status of Fortran is eight integers in the order of C's.
inline int PMPI_Status_c2f(const MPI_Status* status, MPI_Fint* integers) {
  std::memcpy(integers, status, sizeof *status);
  return MPI_SUCCESS;
}

}  // namespace tailrace::plugins
#endif
