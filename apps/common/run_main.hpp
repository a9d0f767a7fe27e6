// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <functional>

#include "tailrace/comm.hpp"

namespace tailrace::app {

/// Runs `program` between MPI_Init_thread and MPI_Finalize and returns its exit code. An exception
/// is printed once, after `name`, and gives a non-zero code on every rank. Collective.
int run_main(int& argc, char**& argv, const char* name,
             const std::function<int(const Comm&)>& program);

/// To be called by a rank that has caught `error`: returns if all ranks have failed, as they do
/// when an error was agreed on; otherwise prints this rank's error and aborts the job, since the
/// others would wait for this one for ever. `name` is the program's. `quiet` is a communicator that
/// nothing else uses, so that no other collective can be taken for this one. Collective among the
/// ranks that failed.
void fail_together(const Comm& quiet, const char* name, const std::exception& error);

}  // namespace tailrace::app
