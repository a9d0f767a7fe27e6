// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "case.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::turbulence {

/// What the command line asks for.
struct RunRequest {
  std::string case_path;
  std::string folder;                 ///< RUN; "" = the name of the case
  std::vector<std::string> settings;  ///< of --set
  bool overwrite = false;             ///< a fresh start may remove what RUN holds
  bool progress = false;              ///< JSON lines instead of a table
  int check_ranks = 0;                ///< check the case for so many ranks in place of running it
};

/// Runs a case from the file to the last output. Returns the exit code. Throws on all ranks alike.
/// Collective, blocking.
int run_case(const Comm& comm, const RunRequest& request);

}  // namespace tailrace::turbulence
