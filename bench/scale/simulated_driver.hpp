// SPDX-License-Identifier: BSD-3-Clause
// What drivers in a simulation share.
#pragma once

#include <cstdio>
#include <exception>

#include <simgrid/s4u.hpp>

#include "mpi_driver.hpp"
#include "payload.hpp"
#include "tailrace/trace.hpp"

namespace scale {

/// Simulated seconds from when all ranks begin `action` until the slowest of all has done it. The
/// clock of a simulation is one for all ranks: no barrier is needed, that some leave before others.
template <class Action>
double time_run(Action&& action) {
  const double start_s = bench::all_max(tailrace::now_s()) + 1e-3;
  simgrid::s4u::this_actor::sleep_until(start_s);
  action();
  return bench::all_max(tailrace::now_s()) - start_s;
}

/// The main function of a driver: `run(argc, argv)` returns the exit status.
template <class Run>
int run_driver(int argc, char** argv, Run&& run) {
  const bench::MpiProgram program(&argc, &argv);
  start_folding();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", program.rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 1;
}

}  // namespace scale
