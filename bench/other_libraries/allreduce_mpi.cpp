// SPDX-License-Identifier: BSD-3-Clause
// Reductions by MPI alone, under the name --entry: for an MPI, or a setting of it, that needs a
// process of its own.
//   --operations allreduce,reduce,barrier --sizes 8,64,...

#include <sstream>

#include "../allreduce_problem.hpp"

namespace {

void run(const bench::Arguments& args, const std::string& operation, std::ptrdiff_t bytes) {
  bench::ReductionProblem problem(operation, bytes);
  bench::Comparison comparison([&](int round) { problem.prepare(round); },
                               [&] { return problem.wrong(); });
  comparison.add(problem.mpi(args.text("entry", "MPI"), "peer"));
  bench::measure(comparison, problem, bench::Effort::from(args));
  comparison.print([&](bench::JsonLine& line) { problem.describe(line, args.text("nodes", "")); });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  const bench::Arguments args(argc, argv);
  std::istringstream operations(args.text("operations", "allreduce"));
  for (std::string operation; std::getline(operations, operation, ',');) {
    const bool one_size = operation == "barrier" || operation == "many";
    std::istringstream sizes(one_size ? "8" : args.text("sizes", "8"));
    for (std::string size; std::getline(sizes, size, ',');) {
      run(args, operation, std::atoll(size.c_str()));
    }
  }
  return 0;
}
