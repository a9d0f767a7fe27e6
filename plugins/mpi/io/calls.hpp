// SPDX-License-Identifier: BSD-3-Clause
// The bodies of the wrappers, the same for C's names and Fortran's. `pass` makes the call that the
// program made, with MPI; it returns MPI's code.
#pragma once
#include <mpi.h>
#include <strings.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "common/fortran.hpp"
#include "common/mpi_start.hpp"
#include "io/open_file.hpp"
#include "tailrace/log.hpp"

namespace tailrace::plugins {

// `file` is where MPI leaves its handle: MPI_File* or FortranFile.
template <class Pass, class File>
int open(MPI_Comm comm, const std::string& path, int mode, MPI_Info info, File file, Pass pass) {
  const int code = pass();
  // It may be open here and not on another rank.
  int failed = code == MPI_SUCCESS ? 0 : 1;
  if (comm == MPI_COMM_NULL) return code;
  if (PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS &&
      failed == 0) {
    opened(comm, path, mode, info, *file);
  }
  return code;
}

template <class File, class Pass>
int close(File file, Pass pass) {
  const int own = closing(file == nullptr ? MPI_FILE_NULL : *file);
  const int code = pass();
  return own != MPI_SUCCESS ? own : code;
}

template <class Pass>
int set_view(MPI_File file, MPI_Offset start, MPI_Datatype unit, MPI_Datatype type,
             const std::string& form, MPI_Info /*info*/, Pass pass) {
  const int code = pass();
  OpenFile* const own = code == MPI_SUCCESS ? open_file(file) : nullptr;
  if (own != nullptr) own->set_view(start, unit, type, strcasecmp(form.c_str(), "native") == 0);
  return code;
}

// What MPI_Get_count and its like will say. Local.
inline void set_status(MPI_Status* status, std::int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_cancelled(status, 0);
  PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
}
inline void set_status(FortranStatus status, std::int64_t bytes) {
  if (status.first == nullptr || fortran_status_ignored(status.first)) return;
  MPI_Status own{};
  set_status(&own, bytes);
  PMPI_Status_c2f(&own, static_cast<MPI_Fint*>(status.first));
}

template <class Status, class Pass>
int transfer(MPI_File file, Transfer call, Status status, Pass pass) {
  OpenFile* const own = open_file(file);
  if (own == nullptr) return pass();
  call.set_status = [status](std::int64_t bytes) { set_status(status, bytes); };
  call.pass = pass;
  try {
    return own->run(call);
  } catch (const std::exception& error) {
    say(LogLevel::warning, error.what());
    PMPI_File_call_errhandler(file, MPI_ERR_INTERN);
    return MPI_ERR_INTERN;
  }
}

template <class Status, class Pass>
int read(MPI_File file, void* data, std::int64_t count, MPI_Datatype type, Status status,
         Pass pass) {
  return transfer(file, {false, {}, data, count, type, {}, {}}, status, pass);
}
template <class Status, class Pass>
int read(MPI_File file, MPI_Offset offset, void* data, std::int64_t count, MPI_Datatype type,
         Status status, Pass pass) {
  return transfer(file, {false, offset, data, count, type, {}, {}}, status, pass);
}
template <class Status, class Pass>
int write(MPI_File file, const void* data, std::int64_t count, MPI_Datatype type, Status status,
          Pass pass) {
  return transfer(file, {true, {}, const_cast<void*>(data), count, type, {}, {}}, status, pass);
}
template <class Status, class Pass>
int write(MPI_File file, MPI_Offset offset, const void* data, std::int64_t count, MPI_Datatype type,
          Status status, Pass pass) {
  return transfer(file, {true, offset, const_cast<void*>(data), count, type, {}, {}}, status, pass);
}

// A call that is MPI's: this rank's hidden writes come before it.
template <class Pass>
int other(MPI_File file, Pass pass) {
  const int own = settle(file);
  const int code = pass();
  return code != MPI_SUCCESS ? code : own;
}

}  // namespace tailrace::plugins
