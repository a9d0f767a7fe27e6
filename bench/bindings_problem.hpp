// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The same calls from C++ and from C: seconds of a call, of data so small that the way into the
// library is what is timed. The programs in Fortran and Python do the same by themselves.

#include <functional>
#include <string>
#include <vector>

#include "mpi_driver.hpp"

namespace bench {

constexpr int bindings_edge = 8;  ///< exchanges move 8 x 8 doubles

/// Times `call` and prints a line of JSON on rank 0.
inline void time_face(const MpiProgram& program, const Arguments& args, const std::string& problem,
                      const std::function<void(int)>& calls) {
  const int num_calls = args.number("calls", 20000);
  auto seconds = time_together(1, args.number("repeats", 5), [&] { calls(num_calls); });
  for (double& value : seconds) value /= num_calls;
  if (program.rank != 0) return;
  JsonLine()
      .text("problem", problem + ", ranks " + std::to_string(program.num_ranks))
      .numbers("seconds", seconds)
      .print();
}

}  // namespace bench
