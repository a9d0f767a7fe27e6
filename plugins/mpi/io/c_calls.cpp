// SPDX-License-Identifier: BSD-3-Clause
// The C names, and those with large counts of MPI 4.
#include <strings.h>

#include "common/mpi_start.hpp"
#include "io/calls.hpp"

using namespace tailrace::plugins;

#define NEXT(name) const auto next = TAILRACE_NEXT(name)

namespace {

auto set_status_at(MPI_Status* status) {
  return [status](std::int64_t bytes) {
    if (status != MPI_STATUS_IGNORE) set_status(*status, bytes);
  };
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

int MPI_File_open(MPI_Comm comm, const char* path, int mode, MPI_Info info, MPI_File* file) {
  NEXT(MPI_File_open);
  return open(
      comm, path == nullptr ? "" : path, mode, info, [&] { return *file; },
      [&] { return next(comm, path, mode, info, file); });
}

int MPI_File_close(MPI_File* file) {
  NEXT(MPI_File_close);
  return close(file == nullptr ? MPI_FILE_NULL : *file, [&] { return next(file); });
}

int MPI_File_set_view(MPI_File file, MPI_Offset start, MPI_Datatype unit, MPI_Datatype type,
                      const char* form, MPI_Info info) {
  NEXT(MPI_File_set_view);
  return set_view(file, start, unit, type, form != nullptr && strcasecmp(form, "native") == 0,
                  [&] { return next(file, start, unit, type, form, info); });
}

#define TAILRACE_TRANSFER(name, is_write, Data, Count)                                         \
  int name(MPI_File file, Data data, Count count, MPI_Datatype type, MPI_Status* status) {     \
    NEXT(name);                                                                                \
    return transfer(                                                                           \
        file, {is_write, {}, const_cast<void*>(data), count, type, set_status_at(status), {}}, \
        [&] { return next(file, data, count, type, status); });                                \
  }

#define TAILRACE_TRANSFER_AT(name, is_write, Data, Count)                                          \
  int name(MPI_File file, MPI_Offset offset, Data data, Count count, MPI_Datatype type,            \
           MPI_Status* status) {                                                                   \
    NEXT(name);                                                                                    \
    return transfer(                                                                               \
        file, {is_write, offset, const_cast<void*>(data), count, type, set_status_at(status), {}}, \
        [&] { return next(file, offset, data, count, type, status); });                            \
  }

TAILRACE_TRANSFER(MPI_File_write_all, true, const void*, int)
TAILRACE_TRANSFER(MPI_File_read_all, false, void*, int)
TAILRACE_TRANSFER_AT(MPI_File_write_at_all, true, const void*, int)
TAILRACE_TRANSFER_AT(MPI_File_read_at_all, false, void*, int)

// What writes, or asks for, data in MPI's own way.
#define TAILRACE_OTHER(name, parameters, ...)              \
  int name parameters {                                    \
    NEXT(name);                                            \
    return other(file, [&] { return next(__VA_ARGS__); }); \
  }
#define TAILRACE_WRITE(name, Count, Last)                                                      \
  TAILRACE_OTHER(name,                                                                         \
                 (MPI_File file, const void* data, Count count, MPI_Datatype type, Last last), \
                 file, data, count, type, last)
#define TAILRACE_WRITE_AT(name, Count, Last)                                       \
  TAILRACE_OTHER(name,                                                             \
                 (MPI_File file, MPI_Offset offset, const void* data, Count count, \
                  MPI_Datatype type, Last last),                                   \
                 file, offset, data, count, type, last)

TAILRACE_OTHER(MPI_File_sync, (MPI_File file), file)
TAILRACE_OTHER(MPI_File_get_size, (MPI_File file, MPI_Offset* size), file, size)
TAILRACE_OTHER(MPI_File_set_size, (MPI_File file, MPI_Offset size), file, size)
TAILRACE_OTHER(MPI_File_preallocate, (MPI_File file, MPI_Offset size), file, size)
TAILRACE_OTHER(MPI_File_set_atomicity, (MPI_File file, int flag), file, flag)
TAILRACE_WRITE(MPI_File_write, int, MPI_Status*)
TAILRACE_WRITE(MPI_File_write_shared, int, MPI_Status*)
TAILRACE_WRITE(MPI_File_write_ordered, int, MPI_Status*)
TAILRACE_WRITE(MPI_File_iwrite, int, MPI_Request*)
TAILRACE_WRITE(MPI_File_iwrite_all, int, MPI_Request*)
TAILRACE_WRITE(MPI_File_iwrite_shared, int, MPI_Request*)
TAILRACE_WRITE_AT(MPI_File_write_at, int, MPI_Status*)
TAILRACE_WRITE_AT(MPI_File_iwrite_at, int, MPI_Request*)
TAILRACE_WRITE_AT(MPI_File_iwrite_at_all, int, MPI_Request*)
#define TAILRACE_BEGIN(name)                                                                  \
  TAILRACE_OTHER(name, (MPI_File file, const void* data, int count, MPI_Datatype type), file, \
                 data, count, type)
TAILRACE_BEGIN(MPI_File_write_all_begin)
TAILRACE_BEGIN(MPI_File_write_ordered_begin)
TAILRACE_OTHER(MPI_File_write_at_all_begin,
               (MPI_File file, MPI_Offset offset, const void* data, int count, MPI_Datatype type),
               file, offset, data, count, type)
#if MPI_VERSION >= 4
TAILRACE_WRITE(MPI_File_write_c, MPI_Count, MPI_Status*)
TAILRACE_WRITE(MPI_File_iwrite_c, MPI_Count, MPI_Request*)
TAILRACE_WRITE(MPI_File_iwrite_all_c, MPI_Count, MPI_Request*)
TAILRACE_WRITE_AT(MPI_File_write_at_c, MPI_Count, MPI_Status*)
TAILRACE_WRITE_AT(MPI_File_iwrite_at_c, MPI_Count, MPI_Request*)
TAILRACE_WRITE_AT(MPI_File_iwrite_at_all_c, MPI_Count, MPI_Request*)
TAILRACE_TRANSFER(MPI_File_write_all_c, true, const void*, MPI_Count)
TAILRACE_TRANSFER(MPI_File_read_all_c, false, void*, MPI_Count)
TAILRACE_TRANSFER_AT(MPI_File_write_at_all_c, true, const void*, MPI_Count)
TAILRACE_TRANSFER_AT(MPI_File_read_at_all_c, false, void*, MPI_Count)
#endif
}
