// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transforms by FFTW-MPI: slabs, transposed spectrum, MEASURE, wisdom kept;
// `--fields` one after another. Compiled once more with BENCH_SINGLE, for single precision.

#include <fftw3-mpi.h>

#include <vector>

#include "mpi_driver.hpp"

#ifdef BENCH_SINGLE
#define FFTW(name) fftwf_##name
using Real = float;
#else
#define FFTW(name) fftw_##name
using Real = double;
#endif

namespace {

struct Field {
  Real* points;
  FFTW(complex) * spectrum;
  FFTW(plan) forward, backward;
};

FFTW(plan)
make_plan(std::ptrdiff_t n, const Field& field, bool real, bool forward) {
  const unsigned flags =
      FFTW_MEASURE | (forward ? FFTW_MPI_TRANSPOSED_OUT : FFTW_MPI_TRANSPOSED_IN);
  auto* points = reinterpret_cast<FFTW(complex)*>(field.points);
  if (!real) {
    return FFTW(mpi_plan_dft_3d)(n, n, n, forward ? points : field.spectrum,
                                 forward ? field.spectrum : points, MPI_COMM_WORLD,
                                 forward ? FFTW_FORWARD : FFTW_BACKWARD, flags);
  }
  return forward ? FFTW(mpi_plan_dft_r2c_3d)(n, n, n, field.points, field.spectrum, MPI_COMM_WORLD,
                                             flags)
                 : FFTW(mpi_plan_dft_c2r_3d)(n, n, n, field.spectrum, field.points, MPI_COMM_WORLD,
                                             flags);
}

/// Returns what planning took.
double make_plans(std::ptrdiff_t n, std::vector<Field>& fields, bool real,
                  const std::string& wisdom) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!wisdom.empty() && rank == 0) FFTW(import_wisdom_from_filename)(wisdom.c_str());
  FFTW(mpi_broadcast_wisdom)(MPI_COMM_WORLD);
  const double start = bench::now_s();
  for (auto& field : fields) {
    field.forward = make_plan(n, field, real, true);
    field.backward = make_plan(n, field, real, false);
  }
  const double plan_s = bench::all_max(bench::now_s() - start);
  FFTW(mpi_gather_wisdom)(MPI_COMM_WORLD);
  if (!wisdom.empty() && rank == 0) FFTW(export_wisdom_to_filename)(wisdom.c_str());
  return plan_s;
}

void measure(const bench::Arguments& args, int rank) {
  const std::ptrdiff_t n = args.number("n", 256);
  const bool in_place = args.text("placement", "in") == "in";
  const bool real = args.text("kind", "r2c") == "r2c";
  std::ptrdiff_t planes = 0, first = 0, planes_y = 0, first_y = 0;
  const std::ptrdiff_t items = FFTW(mpi_local_size_3d_transposed)(
      n, n, real ? n / 2 + 1 : n, MPI_COMM_WORLD, &planes, &first, &planes_y, &first_y);
  std::vector<Field> fields(static_cast<std::size_t>(args.number("fields", 1)));
  for (auto& field : fields) {
    field.spectrum = FFTW(alloc_complex)(static_cast<std::size_t>(items));
    field.points = in_place ? reinterpret_cast<Real*>(field.spectrum)
                            : FFTW(alloc_real)(static_cast<std::size_t>(2 * items));
  }
  const double plan_s = make_plans(n, fields, real, args.text("wisdom", ""));

  const std::ptrdiff_t used = real ? n : 2 * n;
  const std::ptrdiff_t row = real ? 2 * (n / 2 + 1) : used;  // real rows are padded, always
  const auto value = [&](std::size_t f, std::ptrdiff_t r, std::ptrdiff_t i) {
    return static_cast<Real>(bench::noise(f * static_cast<std::size_t>(n * n * n) +
                                          static_cast<std::size_t>((first * n + r) * used + i)));
  };
  const auto for_items = [&](auto&& body) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      for (std::ptrdiff_t r = 0; r < planes * n; ++r) {
        for (std::ptrdiff_t i = 0; i < used; ++i) {
          body(fields[f].points[r * row + i], value(f, r, i));
        }
      }
    }
  };
  std::vector<double> seconds;
  for (int i = 0; i < args.number("warmups", 1) + args.number("repeats", 5); ++i) {
    for_items([](Real& item, Real noise) { item = noise; });
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench::now_s();
    for (const auto& field : fields) FFTW(execute)(field.forward);
    for (const auto& field : fields) FFTW(execute)(field.backward);
    const double taken = bench::all_max(bench::now_s() - start);
    if (i >= args.number("warmups", 1)) seconds.push_back(taken);
  }
  double error = 0;
  const double scale =
      1.0 / (static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
  for_items([&](Real item, Real noise) {
    error =
        std::max(error, std::abs(static_cast<double>(item) * scale - static_cast<double>(noise)));
  });
  error = bench::all_max(error);
  if (rank != 0) return;
  bench::JsonLine()
      .text("entry", in_place ? "FFTW-MPI in place" : "FFTW-MPI out of place")
      .numbers("seconds", seconds)
      .number("error", error)
      .number("plan_s", plan_s)
      .print();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  FFTW(mpi_init)();
  measure(bench::Arguments(argc, argv), program.rank);
  FFTW(mpi_cleanup)();
  return 0;
}
