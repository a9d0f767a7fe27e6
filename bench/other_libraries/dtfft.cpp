// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward r2c transform by dtFFT (FFTW executor, MEASURE, its own choice of slabs).

#include <mpi.h>

#include <dtfft.hpp>

#include <vector>

#include "mpi_driver.hpp"

namespace {

void measure(const bench::Arguments& args, const bench::MpiProgram& program) {
  const int n = args.number("n", 256);
  const double plan_start = bench::now_s();
  dtfft::PlanR2C plan({n, n, n}, MPI_COMM_WORLD, dtfft::Precision::DOUBLE, dtfft::Effort::MEASURE,
                      dtfft::Executor::FFTW3);
  std::vector<int32_t> in_start(3), in_extents(3), out_start(3), out_extents(3);
  std::size_t alloc_items = 0;
  if (plan.get_local_sizes(in_start, in_extents, out_start, out_extents, &alloc_items) !=
      dtfft::Error::SUCCESS) {
    std::fprintf(stderr, "bench_dtfft: local sizes not known\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const double plan_s = bench::all_max(bench::now_s() - plan_start);
  std::vector<double> field(alloc_items), spectrum(alloc_items), aux(alloc_items);
  const auto items = static_cast<std::size_t>(in_extents[0]) *
                     static_cast<std::size_t>(in_extents[1]) *
                     static_cast<std::size_t>(in_extents[2]);
  const std::size_t shift = items * static_cast<std::size_t>(program.rank);
  const double scale = 1.0 / (static_cast<double>(n) * n * n);
  std::vector<double> seconds;
  for (int i = 0; i < args.number("warmups", 1) + args.number("repeats", 5); ++i) {
    for (std::size_t j = 0; j < items; ++j) field[j] = bench::noise(j + shift);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench::now_s();
    DTFFT_CXX_CALL(
        plan.execute(field.data(), spectrum.data(), dtfft::Execute::FORWARD, aux.data()));
    DTFFT_CXX_CALL(
        plan.execute(spectrum.data(), field.data(), dtfft::Execute::BACKWARD, aux.data()));
    const double taken = bench::all_max(bench::now_s() - start);
    if (i >= args.number("warmups", 1)) seconds.push_back(taken);
  }
  double error = 0;
  for (std::size_t i = 0; i < items; ++i) {
    error = std::max(error, std::abs(field[i] * scale - bench::noise(i + shift)));
  }
  error = bench::all_max(error);
  if (program.rank != 0) return;
  bench::JsonLine()
      .text("entry", "dtFFT")
      .numbers("seconds", seconds)
      .number("error", error)
      .number("plan_s", plan_s)
      .print();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  measure(bench::Arguments(argc, argv), program);
  return 0;
}
