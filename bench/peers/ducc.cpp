// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward r2c transform by ducc0, out of place, on `--threads` threads.

#include <complex>
#include <vector>

#include "../driver.hpp"
#include "ducc0/fft/fft.h"

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const auto n = static_cast<std::size_t>(args.number("n", 256));
  const auto threads = static_cast<std::size_t>(args.number("threads", 1));
  std::vector<double> field(n * n * n);
  std::vector<std::complex<double>> spectrum(n * n * (n / 2 + 1));
  for (std::size_t i = 0; i < field.size(); ++i) field[i] = bench::noise(i);
  const ducc0::fmav_info::shape_t points{n, n, n};
  const ducc0::fmav_info::shape_t modes{n, n, n / 2 + 1};
  const double scale = 1.0 / static_cast<double>(field.size());
  const auto seconds = bench::time_runs(args.number("warmups", 1), args.number("repeats", 5), [&] {
    ducc0::r2c(ducc0::cfmav<double>(field.data(), points),
               ducc0::vfmav<std::complex<double>>(spectrum.data(), modes), {0, 1, 2}, true, 1.0,
               threads);
    ducc0::c2r_mut(ducc0::vfmav<std::complex<double>>(spectrum.data(), modes),
                   ducc0::vfmav<double>(field.data(), points), {0, 1, 2}, false, scale, threads);
  });
  double error = 0;
  for (std::size_t i = 0; i < field.size(); ++i) {
    error = std::max(error, std::abs(field[i] - bench::noise(i)));
  }
  bench::JsonLine()
      .text("entry", args.text("label", "ducc0, " + std::to_string(threads) +
                                            (threads == 1 ? " thread" : " threads")))
      .numbers("seconds", seconds)
      .number("error", error)
      .number("plan_s", 0.0)
      .print();
  return 0;
}
