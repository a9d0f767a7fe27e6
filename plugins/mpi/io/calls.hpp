// SPDX-License-Identifier: BSD-3-Clause
// The calls, the same for C's names and Fortran's. `pass` makes the call that the program made,
// with MPI; it returns MPI's code.
#pragma once
#include <mpi.h>

#include <exception>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "io/open_file.hpp"

namespace tailrace::plugins {

// `file` is where MPI leaves its handle, in C's form.
template <class Pass, class File>
int open(MPI_Comm comm, const std::string& path, int mode, MPI_Info info, File file, Pass pass) {
  const int code = pass();
  // It may be open here and not on another rank.
  int failed = code == MPI_SUCCESS ? 0 : 1;
  if (comm == MPI_COMM_NULL) return code;
  if (PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS &&
      failed == 0) {
    opened(comm, path, mode, info, file());
  }
  return code;
}

template <class Pass>
int close(MPI_File file, Pass pass) {
  const int own = closing(file);
  const int code = pass();
  return own != MPI_SUCCESS ? own : code;
}

template <class Pass>
int set_view(MPI_File file, MPI_Offset start, MPI_Datatype unit, MPI_Datatype type, bool is_native,
             Pass pass) {
  const int code = pass();
  OpenFile* const own = code == MPI_SUCCESS ? open_file(file) : nullptr;
  if (own != nullptr) own->set_view(start, unit, type, is_native);
  return code;
}

template <class Pass>
int transfer(MPI_File file, Transfer call, Pass pass) {
  OpenFile* const own = open_file(file);
  if (own == nullptr) return pass();
  call.pass = pass;
  try {
    return own->run(call);
  } catch (const std::exception& error) {
    say(LogLevel::warning, error.what());
    PMPI_File_call_errhandler(file, MPI_ERR_INTERN);
    return MPI_ERR_INTERN;
  }
}

// A call that is MPI's: this rank's hidden writes come before it.
template <class Pass>
int other(MPI_File file, Pass pass) {
  const int own = settle(file);
  const int code = pass();
  return code != MPI_SUCCESS ? code : own;
}

// What MPI_Get_count and its like will say. Local.
inline void set_status(MPI_Status& status, std::int64_t bytes) {
  PMPI_Status_set_cancelled(&status, 0);
  PMPI_Status_set_elements_x(&status, MPI_BYTE, bytes);
}

}  // namespace tailrace::plugins
