// SPDX-License-Identifier: BSD-3-Clause
// What wrappers of Fortran's names need.
#pragma once
#include <mpi.h>

#include <cstddef>
#include <string>

#include "common/fortran_handles.hpp"
#include "common/mpi_start.hpp"

namespace tailrace::plugins {

// Whether an argument of a Fortran program is the address that stands for a special value: Fortran
// passes addresses of common blocks. Local.
bool fortran_in_place(const void* buffer);
bool fortran_bottom(const void* buffer);
bool fortran_status_ignored(const void* status);

// A buffer that a call reads, and one of MPI-IO, as C has it.
inline const void* fortran_input(const void* buffer) {
  return fortran_in_place(buffer) ? MPI_IN_PLACE : buffer;
}
inline void* fortran_data(void* buffer) { return fortran_bottom(buffer) ? MPI_BOTTOM : buffer; }

// Texts of Fortran end in blanks, and MPI drops blanks at the start, too.
std::string fortran_text(const void* text, std::size_t length);
inline std::string text_of(const char* text) { return text == nullptr ? "" : text; }

// The status that a call fills.
struct FortranStatus {
  void* first;
};

struct FortranTypes {
  const void* first;
  MPI_Datatype operator[](int i) const {
    return PMPI_Type_f2c(static_cast<const MPI_Fint*>(first)[i]);
  }
};

// Handles that Fortran holds as integers; they look like C's pointers to handles.
struct FortranRequest {
  const void* first;
  MPI_Request operator[](int i) const {
    return PMPI_Request_f2c(static_cast<const MPI_Fint*>(first)[i]);
  }
  MPI_Request operator*() const { return (*this)[0]; }
};
struct FortranComm {
  const void* handle;
  MPI_Comm operator*() const { return PMPI_Comm_f2c(*static_cast<const MPI_Fint*>(handle)); }
};
struct FortranWin {
  const void* handle;
  MPI_Win operator*() const { return PMPI_Win_f2c(*static_cast<const MPI_Fint*>(handle)); }
};
struct FortranFile {
  const void* handle;
  bool operator==(std::nullptr_t) const { return handle == nullptr; }
  MPI_File operator*() const { return PMPI_File_f2c(*static_cast<const MPI_Fint*>(handle)); }
};

}  // namespace tailrace::plugins
