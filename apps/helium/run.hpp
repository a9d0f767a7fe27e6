// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "common/command_line.hpp"

namespace tailrace::helium {

inline constexpr const char* program_name = "tailrace-helium";

/// Runs a case from the file to the last output. Returns the exit code. Throws on all ranks alike.
/// Collective, blocking.
int run_case(const Comm& comm, const app::RunRequest& request);

/// What servers that are processes are given for a case. Throws `Errc::invalid_input`. Local, no
/// MPI.
StageFunctions functions_of(const app::RunRequest& request);

}  // namespace tailrace::helium
