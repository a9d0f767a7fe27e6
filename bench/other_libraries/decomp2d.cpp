// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward r2c transform by 2DECOMP&FFT (FFTW, MEASURE; the grid of ranks that it times
// as best).

#include "decomp2d.hpp"

#include <complex>
#include <cstddef>
#include <vector>

#include "mpi_driver.hpp"

namespace {

void measure(const bench::MpiProgram& program, const bench::Arguments& args) {
  const int n = args.number("n", 256);
  const double plan_start = bench::now_s();
  int start[3], extents[3], y_start[3], y_extents[3], spectrum_items = 0;
  decomp2d_start(n, 0, 0, start, extents, y_start, y_extents);
  decomp2d_start_transforms(&spectrum_items);
  const double plan_s = bench::all_max(bench::now_s() - plan_start);
  const auto items = static_cast<std::size_t>(extents[0]) * static_cast<std::size_t>(extents[1]) *
                     static_cast<std::size_t>(extents[2]);
  std::vector<double> field(items);
  std::vector<std::complex<double>> spectrum(static_cast<std::size_t>(spectrum_items));
  const std::size_t shift = items * static_cast<std::size_t>(program.rank);
  const double scale = 1.0 / (static_cast<double>(n) * n * n);
  const int warmups = args.number("warmups", 1);
  std::vector<double> seconds;
  for (int i = 0; i < warmups + args.number("repeats", 5); ++i) {
    for (std::size_t j = 0; j < items; ++j) field[j] = bench::noise(j + shift);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = bench::now_s();
    decomp2d_transform_pair(field.data(), spectrum.data());
    const double taken = bench::all_max(bench::now_s() - begin);
    if (i >= warmups) seconds.push_back(taken);
  }
  double error = 0;
  for (std::size_t i = 0; i < items; ++i) {
    error = std::max(error, std::abs(field[i] * scale - bench::noise(i + shift)));
  }
  error = bench::all_max(error);
  if (program.rank != 0) return;
  bench::JsonLine()
      .text("entry", "2DECOMP&FFT")
      .numbers("seconds", seconds)
      .number("error", error)
      .number("plan_s", plan_s)
      .print();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bench_decomp2d", argc, argv, measure);
}
