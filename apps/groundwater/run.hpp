// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "common/command_line.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::groundwater {

inline constexpr const char* program_name = "tailrace-groundwater";

/// Runs a case from the file to the last output. Returns the exit code. Throws on all ranks alike.
/// Collective, blocking.
int run_case(const Comm& comm, const app::RunRequest& request);

}  // namespace tailrace::groundwater
