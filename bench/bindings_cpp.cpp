// SPDX-License-Identifier: BSD-3-Clause
#include <span>
#include <vector>

#include "bindings_problem.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/reduction.hpp"

int main(int argc, char** argv) {
  return bench::run_program("bindings_cpp", argc, argv, [](const auto& program, const auto& args) {
    const tailrace::Comm comm(MPI_COMM_WORLD);
    const std::vector<std::ptrdiff_t> extents{bench::bindings_edge, bench::bindings_edge};
    const auto rows = tailrace::slabs(extents, 0, comm.num_ranks());
    const auto columns = tailrace::slabs(extents, 1, comm.num_ranks());
    tailrace::Exchange exchange(comm, rows, columns, {.item_bytes = 8}, "alltoallv");
    const std::vector<double> u(static_cast<std::size_t>(rows.num_items(comm.rank())), 1.0);
    std::vector<double> v(static_cast<std::size_t>(columns.num_items(comm.rank())));
    tailrace::Reduction reduction(comm, {.max_items = 1}, "mpi");
    double sum = 1;
    bench::time_face(program, args, "progress of an exchange", [&](int calls) {
      for (int i = 0; i < calls; ++i) exchange.progress();
    });
    bench::time_face(program, args, "exchange of 8 x 8 doubles", [&](int calls) {
      for (int i = 0; i < calls; ++i) exchange.run(std::span(u), std::span(v));
    });
    bench::time_face(program, args, "allreduce of one double", [&](int calls) {
      for (int i = 0; i < calls; ++i)
        reduction.allreduce(std::span(&sum, 1), tailrace::ReduceOp::max);
    });
  });
}
