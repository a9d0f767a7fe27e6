// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward r2c transform by heFFTe (FFTW back end, point-to-point, slabs), with 1D
// transforms that stride through memory or with data reordered for them (its default).

#include <heffte.h>

#include <complex>
#include <vector>

#include "mpi_driver.hpp"

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  const bench::Arguments args(argc, argv);
  const int n = args.number("n", 256);
  const int planes = n / program.num_ranks;  // axis 0 is heFFTe's fastest
  const int first = planes * program.rank;
  const int last = program.rank + 1 == program.num_ranks ? n - 1 : first + planes - 1;
  const heffte::box3d<> in({0, 0, first}, {n - 1, n - 1, last});
  const heffte::box3d<> out({0, first, 0}, {n / 2, last, n - 1});  // spectrum in slabs along y
  auto options = heffte::default_options<heffte::backend::fftw>();
  options.algorithm = heffte::reshape_algorithm::p2p;
  options.use_reorder = args.text("reorder", "no") == "yes";
  options.use_pencils = false;
  const double plan_start = bench::now_s();
  heffte::fft3d_r2c<heffte::backend::fftw> fft(in, out, 0, MPI_COMM_WORLD, options);
  const double plan_s = bench::all_max(bench::now_s() - plan_start);

  std::vector<double> field(static_cast<std::size_t>(fft.size_inbox()));
  std::vector<double> back(field.size());
  std::vector<std::complex<double>> spectrum(static_cast<std::size_t>(fft.size_outbox()));
  std::vector<std::complex<double>> work(fft.size_workspace());
  const std::size_t shift = field.size() * static_cast<std::size_t>(program.rank);
  for (std::size_t i = 0; i < field.size(); ++i) field[i] = bench::noise(i + shift);
  const auto seconds =
      bench::time_together(args.number("warmups", 1), args.number("repeats", 5), [&] {
        fft.forward(field.data(), spectrum.data(), work.data());
        fft.backward(spectrum.data(), back.data(), work.data());
      });
  double error = 0;
  const double scale = 1.0 / (static_cast<double>(n) * n * n);
  for (std::size_t i = 0; i < field.size(); ++i) {
    error = std::max(error, std::abs(back[i] * scale - field[i]));
  }
  error = bench::all_max(error);
  if (program.rank == 0) {
    bench::JsonLine()
        .text("entry", options.use_reorder ? "heFFTe, reordered" : "heFFTe, strided")
        .numbers("seconds", seconds)
        .number("error", error)
        .number("plan_s", plan_s)
        .print();
  }
  return 0;
}
