// SPDX-License-Identifier: BSD-3-Clause
// The transpose of x-pencils to y-pencils by 2DECOMP&FFT, which keeps the order of axes.

#include "decomp2d.hpp"

#include <complex>
#include <vector>

#include "transpose_part.hpp"

namespace {

using bench::TransposePart;

TransposePart part_of(const int* start, const int* extents) {
  TransposePart part;
  for (std::size_t i = 0; i < 3; ++i) {  // it lists its axes fastest first
    part.start[2 - i] = start[i];
    part.extents[2 - i] = extents[i];
  }
  return part;
}

void run(const bench::MpiProgram& program, const bench::Arguments& args) {
  const int n = args.number("n", 256);
  const auto grid = bench::transpose_grid(program.num_ranks);
  int x_start[3], x_extents[3], y_start[3], y_extents[3];
  decomp2d_start(n, grid[1], grid[0], x_start, x_extents, y_start, y_extents);
  const auto x = part_of(x_start, x_extents);
  const auto y = part_of(y_start, y_extents);
  std::vector<std::complex<double>> source(static_cast<std::size_t>(x.num_items()));
  std::vector<std::complex<double>> target(static_cast<std::size_t>(y.num_items()));
  bench::measure({"2DECOMP&FFT", "kept", n, x, y, source.data(), target.data(),
                  [&] { decomp2d_x_to_y(source.data(), target.data()); }},
                 bench::Effort::from(args));
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bench_exchange_decomp2d", argc, argv, run);
}
