// SPDX-License-Identifier: BSD-3-Clause
#include <stdexcept>
#include <vector>

#include "bindings_problem.hpp"
#include "tailrace.h"

namespace {
void check(int status) {
  if (status != TAILRACE_OK) throw std::runtime_error(tailrace_error());
}
}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bindings_c", argc, argv, [](const auto& program, const auto& args) {
    tailrace_comm* comm = nullptr;
    check(tailrace_comm_create(MPI_COMM_WORLD, &comm));
    const std::int64_t extents[] = {bench::bindings_edge, bench::bindings_edge};
    tailrace_layout *rows = nullptr, *columns = nullptr;
    check(tailrace_layout_slabs(2, extents, 0, program.num_ranks, &rows));
    check(tailrace_layout_slabs(2, extents, 1, program.num_ranks, &columns));
    auto options = tailrace_exchange_defaults();
    options.method = "alltoallv";
    tailrace_exchange* exchange = nullptr;
    check(tailrace_exchange_create(comm, rows, nullptr, columns, nullptr, &options, &exchange));
    std::int64_t from = 0, to = 0;
    check(tailrace_layout_num_items(rows, program.rank, &from));
    check(tailrace_layout_num_items(columns, program.rank, &to));
    const std::vector<double> u(static_cast<std::size_t>(from), 1.0);
    std::vector<double> v(static_cast<std::size_t>(to));
    auto reducing = tailrace_reduction_defaults();
    reducing.method = "mpi";
    tailrace_reduction* reduction = nullptr;
    check(tailrace_reduction_create(comm, &reducing, &reduction));
    double sum = 1;
    int done = 0;
    bench::time_face(program, args, "progress of an exchange", [&](int calls) {
      for (int i = 0; i < calls; ++i) check(tailrace_exchange_progress(exchange, &done));
    });
    bench::time_face(program, args, "exchange of 8 x 8 doubles", [&](int calls) {
      for (int i = 0; i < calls; ++i) {
        check(tailrace_exchange_run(exchange, u.data(), from, v.data(), to));
      }
    });
    bench::time_face(program, args, "allreduce of one double", [&](int calls) {
      for (int i = 0; i < calls; ++i) {
        check(
            tailrace_reduction_allreduce(reduction, &sum, &sum, 1, TAILRACE_FLOAT64, TAILRACE_MAX));
      }
    });
    check(tailrace_reduction_destroy(&reduction));
    check(tailrace_exchange_destroy(&exchange));
    check(tailrace_layout_destroy(&columns));
    check(tailrace_layout_destroy(&rows));
    check(tailrace_comm_destroy(&comm));
  });
}
