// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward r2c transform by FFTW on one core, planned with MEASURE, wisdom kept.

#include <fftw3.h>

#include <vector>

#include "driver.hpp"

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const int n = args.number("n", 256);
  const bool in_place = args.text("placement", "in") == "in";
  const std::string wisdom = args.text("wisdom", "");
  if (!wisdom.empty()) fftw_import_wisdom_from_filename(wisdom.c_str());

  const auto cells = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) *
                     static_cast<std::size_t>(n / 2 + 1);
  const std::size_t row = static_cast<std::size_t>(in_place ? 2 * (n / 2 + 1) : n);
  const std::size_t rows = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  auto* spectrum = fftw_alloc_complex(cells);
  auto* field = in_place ? reinterpret_cast<double*>(spectrum) : fftw_alloc_real(rows * row);

  const double plan_start = bench::now_s();
  auto* forward = fftw_plan_dft_r2c_3d(n, n, n, field, spectrum, FFTW_MEASURE);
  auto* backward = fftw_plan_dft_c2r_3d(n, n, n, spectrum, field, FFTW_MEASURE);
  const double plan_s = bench::now_s() - plan_start;
  if (!wisdom.empty()) fftw_export_wisdom_to_filename(wisdom.c_str());

  auto fill = [&] {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        field[r * row + i] = bench::noise(r * static_cast<std::size_t>(n) + i);
      }
    }
  };
  std::vector<double> seconds;
  for (int i = 0; i < args.number("warmups", 1) + args.number("repeats", 5); ++i) {
    fill();  // the plans destroy their inputs, and nothing is scaled inside the timed part
    const double start = bench::now_s();
    fftw_execute(forward);
    fftw_execute(backward);
    if (i >= args.number("warmups", 1)) seconds.push_back(bench::now_s() - start);
  }
  double error = 0;
  const double scale = 1.0 / (static_cast<double>(n) * n * n);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      error = std::max(error, std::abs(field[r * row + i] * scale -
                                       bench::noise(r * static_cast<std::size_t>(n) + i)));
    }
  }
  bench::JsonLine()
      .text("entry", args.text("label", in_place ? "FFTW in place" : "FFTW out of place"))
      .numbers("seconds", seconds)
      .number("error", error)
      .number("plan_s", plan_s)
      .print();
  return 0;
}
