// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transforms of a cube, or of all axes of another array, by FFTW-MPI: slabs,
// transposed spectrum, MEASURE, wisdom kept; Fourier, or cosine and sine, but no mixtures;
// `--fields` one after another. Compiled once more with BENCH_SINGLE, for single precision.

#include <fftw3-mpi.h>

#include <vector>

#include "array_shape.hpp"
#include "fftw_kinds.hpp"
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

/// An array of FFTW-MPI, its last axis contiguous.
struct Slabs {
  explicit Slabs(const bench::ArrayShape& given, bool is_real) : shape(given), real(is_real) {
    for (const auto extent : shape.extents) extents.push_back(static_cast<std::ptrdiff_t>(extent));
    const auto last = extents.back();
    const bool waves = !shape.axes_of(false).empty();
    used = real ? last : 2 * last;
    row = real && !waves ? 2 * (last / 2 + 1) : used;  // real rows are padded, always
    for (std::size_t axis = 1; axis + 1 < extents.size(); ++axis) rows_of_plane *= extents[axis];
    auto modes = extents;
    if (real && !waves) modes.back() = last / 2 + 1;
    std::ptrdiff_t planes_y = 0, first_y = 0;
    items = FFTW(mpi_local_size_many_transposed)(
        static_cast<int>(extents.size()), modes.data(), 1, FFTW_MPI_DEFAULT_BLOCK,
        FFTW_MPI_DEFAULT_BLOCK, MPI_COMM_WORLD, &planes, &first, &planes_y, &first_y);
    num_rows = planes * rows_of_plane;
    first_row = first * rows_of_plane;
  }

  FFTW(plan) plan(const Field& field, bool forward) const {
    const unsigned flags =
        FFTW_MEASURE | (forward ? FFTW_MPI_TRANSPOSED_OUT : FFTW_MPI_TRANSPOSED_IN);
    const auto dims = static_cast<int>(extents.size());
    constexpr auto block = FFTW_MPI_DEFAULT_BLOCK;
    auto* modes = reinterpret_cast<Real*>(field.spectrum);
    auto* points = reinterpret_cast<FFTW(complex)*>(field.points);
    if (!shape.axes_of(false).empty()) {
      std::vector<fftw_r2r_kind> kinds;
      for (const auto& name : shape.kinds) kinds.push_back(bench::fftw_kind(name, !forward));
      return FFTW(mpi_plan_many_r2r)(dims, extents.data(), 1, block, block,
                                     forward ? field.points : modes, forward ? modes : field.points,
                                     MPI_COMM_WORLD, kinds.data(), flags);
    }
    if (!real) {
      return FFTW(mpi_plan_many_dft)(dims, extents.data(), 1, block, block,
                                     forward ? points : field.spectrum,
                                     forward ? field.spectrum : points, MPI_COMM_WORLD,
                                     forward ? FFTW_FORWARD : FFTW_BACKWARD, flags);
    }
    return forward
               ? FFTW(mpi_plan_many_dft_r2c)(dims, extents.data(), 1, block, block, field.points,
                                             field.spectrum, MPI_COMM_WORLD, flags)
               : FFTW(mpi_plan_many_dft_c2r)(dims, extents.data(), 1, block, block, field.spectrum,
                                             field.points, MPI_COMM_WORLD, flags);
  }

  const bench::ArrayShape& shape;
  bool real;
  std::vector<std::ptrdiff_t> extents;
  std::ptrdiff_t used = 0, row = 0;  ///< reals of a row, without and with padding
  std::ptrdiff_t planes = 0, first = 0, rows_of_plane = 1, num_rows = 0, first_row = 0;
  std::ptrdiff_t items = 0;  ///< complex ones to allocate
};

/// Returns what planning took.
double make_plans(const Slabs& slabs, std::vector<Field>& fields, const std::string& wisdom) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!wisdom.empty() && rank == 0) FFTW(import_wisdom_from_filename)(wisdom.c_str());
  FFTW(mpi_broadcast_wisdom)(MPI_COMM_WORLD);
  const double start = bench::now_s();
  for (auto& field : fields) {
    field.forward = slabs.plan(field, true);
    field.backward = slabs.plan(field, false);
    if (field.forward != nullptr && field.backward != nullptr) continue;
    std::fprintf(stderr, "bench_fftw_mpi: FFTW has no plan\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const double plan_s = bench::all_max(bench::now_s() - start);
  FFTW(mpi_gather_wisdom)(MPI_COMM_WORLD);
  if (!wisdom.empty() && rank == 0) FFTW(export_wisdom_to_filename)(wisdom.c_str());
  return plan_s;
}

void measure(const bench::Arguments& args, int rank) {
  const bool in_place = args.text("placement", "in") == "in";
  const bench::ArrayShape shape(args);
  const Slabs slabs(shape, args.text("kind", "r2c") == "r2c");
  std::vector<Field> fields(static_cast<std::size_t>(args.number("fields", 1)));
  for (auto& field : fields) {
    field.spectrum = FFTW(alloc_complex)(static_cast<std::size_t>(slabs.items));
    field.points = in_place ? reinterpret_cast<Real*>(field.spectrum)
                            : FFTW(alloc_real)(static_cast<std::size_t>(2 * slabs.items));
  }
  const double plan_s = make_plans(slabs, fields, args.text("wisdom", ""));

  const auto value = [&](std::size_t f, std::ptrdiff_t r, std::ptrdiff_t i) {
    return static_cast<Real>(bench::noise(
        f * shape.num_points() + static_cast<std::size_t>((slabs.first_row + r) * slabs.used + i)));
  };
  const auto for_items = [&](auto&& body) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      for (std::ptrdiff_t r = 0; r < slabs.num_rows; ++r) {
        for (std::ptrdiff_t i = 0; i < slabs.used; ++i) {
          body(fields[f].points[r * slabs.row + i], value(f, r, i));
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
  const double scale = 1 / shape.size();
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
      .number("points", static_cast<double>(shape.num_points()))
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
