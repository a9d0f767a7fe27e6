// SPDX-License-Identifier: BSD-3-Clause
// The bodies of the wrappers, the same for C's names and Fortran's. `pass` makes the call that the
// program made, with MPI; it returns MPI's code.
#pragma once
#include <mpi.h>
#include <strings.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/fortran.hpp"
#include "common/mpi_start.hpp"
#include "io/open_file.hpp"
#include "tailrace/log.hpp"

namespace tailrace::plugins {

// Puts a handle where the program expects it.
inline void leave_handle(MPI_File* where, MPI_File file) { *where = file; }
inline void leave_handle(FortranFile where, MPI_File file) {
  *static_cast<MPI_Fint*>(const_cast<void*>(where.handle)) = PMPI_File_c2f(file);
}

// A file cannot be opened: as its error handler, that of no file yet, wants it. Open MPI calls
// handlers of open files only.
inline int refuse_to_open(MPI_Comm comm, int code) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_File_get_errhandler(MPI_FILE_NULL, &handler);
  if (handler == MPI_ERRORS_ARE_FATAL) PMPI_Abort(comm, code);
  if (handler != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&handler);
  return code;
}

// `file` is where MPI leaves its handle: MPI_File* or FortranFile.
template <class Pass, class File>
int open(MPI_Comm comm, const std::string& path, int mode, MPI_Info info, File file, Pass pass) {
  if (comm == MPI_COMM_NULL) return pass();
  const Opening how = opening(comm, path, mode);
  int code = how.code;
  if (code != MPI_SUCCESS) {
    leave_handle(file, MPI_FILE_NULL);
    return refuse_to_open(comm, code);
  }
  if (how.temporary.empty()) {
    const OwnCalls quiet;  // MPI's descriptor is none of the program's
    code = pass();
  } else {
    const OwnCalls quiet;
    MPI_File made = MPI_FILE_NULL;
    code = TAILRACE_NEXT(MPI_File_open)(comm, how.temporary.c_str(), mode, info, &made);
    if (code == MPI_SUCCESS) leave_handle(file, made);
  }
  // It may be open here and not on another rank.
  int failed = code == MPI_SUCCESS ? 0 : 1;
  if (PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS &&
      failed == 0) {
    opened(comm, path, mode, info, *file, how);
  } else if (code == MPI_SUCCESS) {
    give_name(how);
  }
  return code;
}

template <class File, class Pass>
int close(File file, Pass pass) {
  const std::unique_ptr<OpenFile> own = closing(file == nullptr ? MPI_FILE_NULL : *file);
  const int own_code = own ? own->close() : MPI_SUCCESS;
  const OwnCalls quiet;  // what MPI asks of the file does not wait until it is whole
  const int code = pass();
  if (own) {
    own->closed();
    add_closed(own->tally());
  }
  return own_code != MPI_SUCCESS ? own_code : code;
}

// A file of this name that is not whole yet is deleted as soon as it is.
template <class Pass>
int remove(const std::string& path, Pass pass) {
  if (file_mode() == FileMode::hidden) hidden_files().wait_for(path);
  return pass();
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

// An independent write.
template <class Status, class Pass>
int write_alone(MPI_File file, Transfer call, Status status, Pass pass) {
  OpenFile* const own = hiding_file(file);
  if (own == nullptr) return pass();
  call.set_status = [status](std::int64_t bytes) { set_status(status, bytes); };
  call.pass = pass;
  try {
    return own->write_alone(call);
  } catch (const std::exception& error) {
    say(LogLevel::warning, error.what());
    PMPI_File_call_errhandler(file, MPI_ERR_INTERN);
    return MPI_ERR_INTERN;
  }
}
template <class Status, class Pass>
int put(MPI_File file, const void* data, std::int64_t count, MPI_Datatype type, Status status,
        Pass pass) {
  return write_alone(file, {true, {}, const_cast<void*>(data), count, type, {}, {}}, status, pass);
}
template <class Status, class Pass>
int put(MPI_File file, MPI_Offset offset, const void* data, std::int64_t count, MPI_Datatype type,
        Status status, Pass pass) {
  return write_alone(file, {true, offset, const_cast<void*>(data), count, type, {}, {}}, status,
                     pass);
}

// An independent read is MPI's, after the writes to its bytes.
template <class Pass>
int look(MPI_File file, std::int64_t count, MPI_Datatype type, Pass pass) {
  OpenFile* const own = hiding_file(file);
  if (own != nullptr) own->look({false, {}, nullptr, count, type, {}, {}});
  return pass();
}
template <class Pass>
int look(MPI_File file, MPI_Offset offset, std::int64_t count, MPI_Datatype type, Pass pass) {
  OpenFile* const own = hiding_file(file);
  if (own != nullptr) own->look({false, offset, nullptr, count, type, {}, {}});
  return pass();
}

// A call of one rank that is MPI's: hidden writes come before it.
template <class Pass>
int other(MPI_File file, Pass pass) {
  OpenFile* const own = hiding_file(file);
  if (own != nullptr) own->settle();
  return pass();
}
// The same of all ranks.
template <class Pass>
int together(MPI_File file, Pass pass) {
  OpenFile* const own = hiding_file(file);
  if (own != nullptr) own->settle_together();
  return pass();
}

template <class Pass>
int seek(MPI_File file, int whence, Pass pass) {
  return whence == MPI_SEEK_END ? other(file, pass) : pass();
}

template <class Pass>
int sync(MPI_File file, Pass pass) {
  OpenFile* const own = hiding_file(file);
  return own != nullptr ? own->sync(pass) : pass();
}
template <class Pass>
int set_size(MPI_File file, MPI_Offset bytes, Pass pass) {
  OpenFile* const own = hiding_file(file);
  return own != nullptr ? own->set_size(bytes, pass) : pass();
}
template <class Pass>
int get_size(MPI_File file, MPI_Offset* bytes, Pass pass) {
  OpenFile* const own = hiding_file(file);
  return own != nullptr ? own->get_size(bytes, pass) : pass();
}

}  // namespace tailrace::plugins
