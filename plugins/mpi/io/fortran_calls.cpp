// SPDX-License-Identifier: BSD-3-Clause
// Fortran's names of Open MPI, which do not call C's (mpif.h, use mpi: NAME_; mpi_f08: NAME_f08_).
// What is passed on goes to Fortran's as it came. MPICH's call C's, but for mpi_f08: its files are
// left to MPI.
#include <mpi.h>

#ifdef OPEN_MPI
#include <strings.h>

#include <string>

#include "common/fortran.hpp"
#include "common/mpi_start.hpp"
#include "io/calls.hpp"

namespace tailrace::plugins {
namespace {

MPI_File file_at(const void* handle) {
  return PMPI_File_f2c(*static_cast<const MPI_Fint*>(handle));
}
MPI_Datatype type_at(const void* handle) {
  return PMPI_Type_f2c(*static_cast<const MPI_Fint*>(handle));
}
MPI_Comm comm_at(const void* handle) {
  return PMPI_Comm_f2c(*static_cast<const MPI_Fint*>(handle));
}
MPI_Info info_at(const void* handle) {
  return PMPI_Info_f2c(*static_cast<const MPI_Fint*>(handle));
}
int int_at(const void* number) { return *static_cast<const int*>(number); }
MPI_Offset offset_at(const void* number) { return *static_cast<const MPI_Offset*>(number); }
void* data_at(void* buffer) { return fortran_bottom(buffer) ? MPI_BOTTOM : buffer; }

// Fortran's texts end in blanks.
std::string text_at(const char* text, std::size_t length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  std::size_t first = 0;
  while (first < length && text[first] == ' ') ++first;
  return {text + first, length - first};
}

auto set_status_at(void* status) {
  return [status](std::int64_t bytes) {
    if (status == nullptr || fortran_status_ignored(status)) return;
    MPI_Status own{};
    set_status(own, bytes);
    PMPI_Status_c2f(&own, static_cast<MPI_Fint*>(status));
  };
}

}  // namespace
}  // namespace tailrace::plugins

using namespace tailrace::plugins;

// A wrapper that makes `...`, with `pass`, and leaves its code in `error`.
#define TAILRACE_FORTRAN(name, parameters, arguments, ...)                             \
  void name parameters {                                                               \
    static void* const next = next_symbol(#name);                                      \
    int own_error = MPI_SUCCESS;                                                       \
    const auto pass = [&] { return call_fortran(next, error, own_error, arguments); }; \
    const int code = __VA_ARGS__;                                                      \
    if (error != nullptr) *static_cast<int*>(error) = code;                            \
  }
// The same where the lengths of texts come behind `error`.
#define TAILRACE_FORTRAN_TEXT(name, parameters, arguments, ...)            \
  void name parameters {                                                   \
    static void* const next = next_symbol(#name);                          \
    int own_error = MPI_SUCCESS;                                           \
    const auto pass = [&] {                                                \
      return call_fortran_text(next, error, own_error, length, arguments); \
    };                                                                     \
    const int code = __VA_ARGS__;                                          \
    if (error != nullptr) *static_cast<int*>(error) = code;                \
  }
#define WORDS(...) __VA_ARGS__

extern "C" {
#pragma GCC visibility push(default)

#define TAILRACE_OPEN(name)                                                                    \
  TAILRACE_FORTRAN_TEXT(name,                                                                  \
                        (void* comm, const char* path, void* mode, void* info, void* file,     \
                         void* error, std::size_t length),                                     \
                        WORDS(comm, path, mode, info, file),                                   \
                        open(                                                                  \
                            comm_at(comm), text_at(path, length), int_at(mode), info_at(info), \
                            [&] { return file_at(file); }, pass))
#define TAILRACE_CLOSE(name) \
  TAILRACE_FORTRAN(name, (void* file, void* error), WORDS(file), close(file_at(file), pass))
#define TAILRACE_SET_VIEW(name)                                                                 \
  TAILRACE_FORTRAN_TEXT(name,                                                                   \
                        (void* file, void* start, void* unit, void* type, const char* form,     \
                         void* info, void* error, std::size_t length),                          \
                        WORDS(file, start, unit, type, form, info),                             \
                        set_view(file_at(file), offset_at(start), type_at(unit), type_at(type), \
                                 strcasecmp(text_at(form, length).c_str(), "native") == 0, pass))
#define TAILRACE_TRANSFER(name, is_write)                                                         \
  TAILRACE_FORTRAN(                                                                               \
      name, (void* file, void* data, void* count, void* type, void* status, void* error),         \
      WORDS(file, data, count, type, status),                                                     \
      transfer(                                                                                   \
          file_at(file),                                                                          \
          {is_write, {}, data_at(data), int_at(count), type_at(type), set_status_at(status), {}}, \
          pass))
#define TAILRACE_TRANSFER_AT(name, is_write)                                                      \
  TAILRACE_FORTRAN(                                                                               \
      name,                                                                                       \
      (void* file, void* offset, void* data, void* count, void* type, void* status, void* error), \
      WORDS(file, offset, data, count, type, status),                                             \
      transfer(file_at(file),                                                                     \
               {is_write,                                                                         \
                offset_at(offset),                                                                \
                data_at(data),                                                                    \
                int_at(count),                                                                    \
                type_at(type),                                                                    \
                set_status_at(status),                                                            \
                {}},                                                                              \
               pass))

// What writes, or asks for, data in MPI's own way, by how many words come before `error`.
#define TAILRACE_OTHER_1(name) \
  TAILRACE_FORTRAN(name, (void* file, void* error), WORDS(file), other(file_at(file), pass))
#define TAILRACE_OTHER_2(name)                                               \
  TAILRACE_FORTRAN(name, (void* file, void* a, void* error), WORDS(file, a), \
                   other(file_at(file), pass))
#define TAILRACE_OTHER_4(name)                                                 \
  TAILRACE_FORTRAN(name, (void* file, void* a, void* b, void* c, void* error), \
                   WORDS(file, a, b, c), other(file_at(file), pass))
#define TAILRACE_OTHER_5(name)                                                          \
  TAILRACE_FORTRAN(name, (void* file, void* a, void* b, void* c, void* d, void* error), \
                   WORDS(file, a, b, c, d), other(file_at(file), pass))
#define TAILRACE_OTHER_6(name)                                                                   \
  TAILRACE_FORTRAN(name, (void* file, void* a, void* b, void* c, void* d, void* e, void* error), \
                   WORDS(file, a, b, c, d, e), other(file_at(file), pass))
#define TAILRACE_BOTH(words, name) \
  TAILRACE_OTHER_##words(mpi_file_##name##_) TAILRACE_OTHER_##words(mpi_file_##name##_f08_)

TAILRACE_BOTH(1, sync)
TAILRACE_BOTH(2, get_size)
TAILRACE_BOTH(2, set_size)
TAILRACE_BOTH(2, preallocate)
TAILRACE_BOTH(2, set_atomicity)
TAILRACE_BOTH(4, write_all_begin)
TAILRACE_BOTH(4, write_ordered_begin)
TAILRACE_BOTH(5, write_at_all_begin)
TAILRACE_BOTH(5, write)
TAILRACE_BOTH(5, write_shared)
TAILRACE_BOTH(5, write_ordered)
TAILRACE_BOTH(5, iwrite)
TAILRACE_BOTH(5, iwrite_all)
TAILRACE_BOTH(5, iwrite_shared)
TAILRACE_BOTH(6, write_at)
TAILRACE_BOTH(6, iwrite_at)
TAILRACE_BOTH(6, iwrite_at_all)

TAILRACE_OPEN(mpi_file_open_)
TAILRACE_OPEN(mpi_file_open_f08_)
TAILRACE_CLOSE(mpi_file_close_)
TAILRACE_CLOSE(mpi_file_close_f08_)
TAILRACE_SET_VIEW(mpi_file_set_view_)
TAILRACE_SET_VIEW(mpi_file_set_view_f08_)
TAILRACE_TRANSFER(mpi_file_write_all_, true)
TAILRACE_TRANSFER(mpi_file_write_all_f08_, true)
TAILRACE_TRANSFER(mpi_file_read_all_, false)
TAILRACE_TRANSFER(mpi_file_read_all_f08_, false)
TAILRACE_TRANSFER_AT(mpi_file_write_at_all_, true)
TAILRACE_TRANSFER_AT(mpi_file_write_at_all_f08_, true)
TAILRACE_TRANSFER_AT(mpi_file_read_at_all_, false)
TAILRACE_TRANSFER_AT(mpi_file_read_at_all_f08_, false)
}
#endif
