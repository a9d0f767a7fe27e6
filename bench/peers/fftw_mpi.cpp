// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward r2c transform by FFTW-MPI: slabs, transposed spectrum, MEASURE, wisdom kept.

#include <fftw3-mpi.h>

#include <vector>

#include "../mpi_driver.hpp"

namespace {

struct Plans {
  fftw_plan forward, backward;
  double plan_s;
};

Plans make_plans(std::ptrdiff_t n, double* field, fftw_complex* spectrum,
                 const std::string& wisdom) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!wisdom.empty() && rank == 0) fftw_import_wisdom_from_filename(wisdom.c_str());
  fftw_mpi_broadcast_wisdom(MPI_COMM_WORLD);
  const double start = bench::now_s();
  Plans plans{};
  plans.forward = fftw_mpi_plan_dft_r2c_3d(n, n, n, field, spectrum, MPI_COMM_WORLD,
                                           FFTW_MEASURE | FFTW_MPI_TRANSPOSED_OUT);
  plans.backward = fftw_mpi_plan_dft_c2r_3d(n, n, n, spectrum, field, MPI_COMM_WORLD,
                                            FFTW_MEASURE | FFTW_MPI_TRANSPOSED_IN);
  plans.plan_s = bench::all_max(bench::now_s() - start);
  fftw_mpi_gather_wisdom(MPI_COMM_WORLD);
  if (!wisdom.empty() && rank == 0) fftw_export_wisdom_to_filename(wisdom.c_str());
  return plans;
}

void measure(const bench::Arguments& args, int rank) {
  const std::ptrdiff_t n = args.number("n", 256);
  const bool in_place = args.text("placement", "in") == "in";
  std::ptrdiff_t planes = 0;
  std::ptrdiff_t first = 0;
  std::ptrdiff_t planes_y = 0;
  std::ptrdiff_t first_y = 0;
  const std::ptrdiff_t items = fftw_mpi_local_size_3d_transposed(
      n, n, n / 2 + 1, MPI_COMM_WORLD, &planes, &first, &planes_y, &first_y);
  auto* spectrum = fftw_alloc_complex(static_cast<std::size_t>(items));
  auto* field = in_place ? reinterpret_cast<double*>(spectrum)
                         : fftw_alloc_real(static_cast<std::size_t>(2 * items));
  const Plans plans = make_plans(n, field, spectrum, args.text("wisdom", ""));

  const std::ptrdiff_t row = 2 * (n / 2 + 1);  // FFTW-MPI pads rows, in place or not
  auto value = [&](std::ptrdiff_t r, std::ptrdiff_t i) {
    return bench::noise(static_cast<std::size_t>((first * n + r) * n + i));
  };
  auto fill = [&] {
    for (std::ptrdiff_t r = 0; r < planes * n; ++r) {
      for (std::ptrdiff_t i = 0; i < n; ++i) field[r * row + i] = value(r, i);
    }
  };
  std::vector<double> seconds;
  for (int i = 0; i < args.number("warmups", 1) + args.number("repeats", 5); ++i) {
    fill();
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench::now_s();
    fftw_execute(plans.forward);
    fftw_execute(plans.backward);
    const double taken = bench::all_max(bench::now_s() - start);
    if (i >= args.number("warmups", 1)) seconds.push_back(taken);
  }
  double error = 0;
  const double scale =
      1.0 / (static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
  for (std::ptrdiff_t r = 0; r < planes * n; ++r) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      error = std::max(error, std::abs(field[r * row + i] * scale - value(r, i)));
    }
  }
  error = bench::all_max(error);
  if (rank != 0) return;
  bench::JsonLine()
      .text("entry", in_place ? "FFTW-MPI in place" : "FFTW-MPI out of place")
      .numbers("seconds", seconds)
      .number("error", error)
      .number("plan_s", plans.plan_s)
      .print();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  fftw_mpi_init();
  measure(bench::Arguments(argc, argv), program.rank);
  fftw_mpi_cleanup();
  return 0;
}
