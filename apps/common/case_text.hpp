// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <mpi.h>

namespace tailrace::app {

/// The text of a case file. Throws `Errc::io` with its path and errno. Local.
std::string read_case_text(const std::string& path);

/// The same, read on rank 0 and shared; throws on all ranks alike. Collective, blocking.
std::string read_case_text(MPI_Comm comm, const std::string& path);

/// The name of a case: `name`, or, if that is empty, of its file without folder and suffix. Throws
/// `Errc::invalid_input` for one that is no name of files. Local.
std::string case_name(const std::string& name, const std::string& source);

}  // namespace tailrace::app
