// SPDX-License-Identifier: BSD-3-Clause
// A sum of doubles over all ranks by any way of reducing. Prints a line of JSON with simulated
// seconds.
//   --method NAME   of the table of ways to reduce; mpi: MPI_Allreduce
//   --bytes N       of the vector
#include <string>
#include <vector>

#include "simulated_driver.hpp"
#include "tailrace/reduction.hpp"

namespace {

int run(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const tailrace::Comm world(MPI_COMM_WORLD);
  const std::string method = arguments.text("method", "mpi");
  const auto items = static_cast<std::size_t>(arguments.real("bytes", 8)) / sizeof(double);
  std::vector<double> values(items, 1.0);
  tailrace::Reduction reduction(world, {.max_items = std::ssize(values)}, method);
  const double seconds = scale::time_run([&] { reduction.allreduce(std::span(values)); });
  if (world.rank() != 0) return 0;
  bench::JsonLine()
      .text("method", method)
      .number("ranks", world.num_ranks())
      .number("bytes", static_cast<double>(items * sizeof(double)))
      .number("seconds", seconds)
      .print();
  return values.empty() || values[0] == world.num_ranks() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return scale::run_driver(argc, argv, run); }
