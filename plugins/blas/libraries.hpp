// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace tailrace::blas {

/// A BLAS library beside the program's own. It is opened so that its symbols are seen by nobody and
/// its own calls stay within it, and is never closed.
struct BlasLibrary {
  std::string name;  ///< of its file, without folders
  void* handle;

  /// A routine such as "dgemv" under any of the names that builds give it; null if there is none.
  void* find(const std::string& routine) const;
};

struct BlasLibraries {
  std::vector<BlasLibrary> usable;
  std::vector<std::string> left_out;  ///< "FILE: why", of those that were asked for
};

/// Opens the files of TAILRACE_BLAS_LIBRARIES (colons between them; "none": none); where it is not
/// set OpenBLAS, BLIS and MKL as the system's loader finds them, and MKL of VIRTUAL_ENV and
/// CONDA_PREFIX. Those that do not multiply
/// correctly are left out. They are told to use at most `threads` threads. Local, takes tens of
/// milliseconds.
BlasLibraries open_blas_libraries(int threads);

/// The name of the file that holds an address, links followed; "program" if that is not known.
std::string file_name_of(const void* address);

}  // namespace tailrace::blas
