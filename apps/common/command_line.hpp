// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/more/stage.hpp"

namespace tailrace::app {

/// What the command line of an application asks for.
struct RunRequest {
  std::string case_path;
  std::string folder;                 ///< RUN; "" = the name of the case
  std::vector<std::string> settings;  ///< of --set
  bool overwrite = false;             ///< a fresh start may remove what RUN holds
  bool progress = false;              ///< JSON lines instead of a table
  int check_ranks = 0;                ///< check the case for so many ranks in place of running it
};

/// An application as its command line sees it.
struct Program {
  const char* name;  ///< "tailrace-turbulence"
  /// Runs a case from the file to the last output. Returns the exit code. Throws on all ranks
  /// alike. Collective, blocking.
  std::function<int(const Comm&, const RunRequest&)> run;
  /// Checks a case for `check_ranks` ranks and returns it whole, as TOML. Throws. Local, no MPI.
  std::function<std::string(const RunRequest&)> check;
  /// The table of keys in Markdown. Local.
  std::function<std::string()> keys;
  /// What products of a case call on servers; {}: nothing. Throws. Local, no MPI.
  std::function<StageFunctions(const RunRequest&)> functions = {};
};

/// `main` of an application: NAME CASE.toml [--run-dir DIR] [--set section.key=value]...
/// [--overwrite] [--progress] | --check RANKS | --keys. Starts and ends MPI where a case is run.
/// With the words of `words_of_server` it serves.
int program_main(int argc, char** argv, const Program& program);

/// `OutputOptions::server_program` of this program for a case. Local.
std::vector<std::string> words_of_server(const RunRequest& request);

}  // namespace tailrace::app
