// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward r2c transform by AccFFT, slabs (P x 1), MEASURE.

#include <accfft.h>
#include <mpi.h>

#include <vector>

#include "mpi_driver.hpp"

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  const bench::Arguments args(argc, argv);
  const int edge = args.number("n", 256);
  int n[3] = {edge, edge, edge};
  int grid[2] = {program.num_ranks, 1};
  MPI_Comm comm = MPI_COMM_NULL;
  accfft_create_comm(MPI_COMM_WORLD, grid, &comm);
  int in_extents[3], in_start[3], out_extents[3], out_start[3];
  const int bytes =
      accfft_local_size_dft_r2c(n, in_extents, in_start, out_extents, out_start, comm);
  auto* field = static_cast<double*>(accfft_alloc(bytes));
  auto* back = static_cast<double*>(accfft_alloc(bytes));
  auto* spectrum = static_cast<Complex*>(accfft_alloc(bytes));
  accfft_init(1);
  const double plan_start = bench::now_s();
  auto* plan =
      accfft_plan_dft_3d_r2c(n, field, reinterpret_cast<double*>(spectrum), comm, ACCFFT_MEASURE);
  const double plan_s = bench::all_max(bench::now_s() - plan_start);
  const auto items = static_cast<std::size_t>(in_extents[0]) *
                     static_cast<std::size_t>(in_extents[1]) *
                     static_cast<std::size_t>(in_extents[2]);
  const std::size_t shift = items * static_cast<std::size_t>(program.rank);
  for (std::size_t i = 0; i < items; ++i) field[i] = bench::noise(i + shift);
  const auto seconds =
      bench::time_together(args.number("warmups", 1), args.number("repeats", 5), [&] {
        accfft_execute_r2c(plan, field, spectrum);
        accfft_execute_c2r(plan, spectrum, back);
      });
  double error = 0;
  const double scale = 1.0 / (static_cast<double>(edge) * edge * edge);
  for (std::size_t i = 0; i < items; ++i) {
    error = std::max(error, std::abs(back[i] * scale - bench::noise(i + shift)));
  }
  error = bench::all_max(error);
  if (program.rank == 0) {
    bench::JsonLine()
        .text("entry", "AccFFT")
        .numbers("seconds", seconds)
        .number("error", error)
        .number("plan_s", plan_s)
        .print();
  }
  accfft_destroy_plan(plan);
  accfft_cleanup();
  MPI_Comm_free(&comm);
  return 0;
}
