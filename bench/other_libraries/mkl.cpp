// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transforms by MKL's DFTI, in place, on `--threads` threads; `--fields` one
// after another.

#include <mkl_dfti.h>
#include <mkl_service.h>

#include <vector>

#include "driver.hpp"

namespace {

void check(MKL_LONG status) {
  if (status == 0) return;
  std::fprintf(stderr, "bench_mkl: %s\n", DftiErrorMessage(status));
  std::exit(1);
}

/// How rows lie, in items: real ones are padded, so that the spectrum fits in their place.
struct Shape {
  MKL_LONG n, row, half;
  MKL_LONG points[4], modes[4];
  Shape(MKL_LONG n_, bool real)
      : n(n_),
        row(real ? 2 * (n / 2 + 1) : n),
        half(real ? n / 2 + 1 : n),
        points{0, row * n, row, 1},
        modes{0, half * n, half, 1} {}
};

DFTI_DESCRIPTOR_HANDLE plan(const Shape& shape, bool single, bool real, bool forward) {
  const MKL_LONG lengths[3] = {shape.n, shape.n, shape.n};
  const auto points = static_cast<double>(shape.n) * static_cast<double>(shape.n * shape.n);
  DFTI_DESCRIPTOR_HANDLE handle = nullptr;
  check(DftiCreateDescriptor(&handle, single ? DFTI_SINGLE : DFTI_DOUBLE,
                             real ? DFTI_REAL : DFTI_COMPLEX, 3, lengths));
  if (real) check(DftiSetValue(handle, DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX));
  check(DftiSetValue(handle, DFTI_PLACEMENT, DFTI_INPLACE));
  check(DftiSetValue(handle, DFTI_INPUT_STRIDES, forward ? shape.points : shape.modes));
  check(DftiSetValue(handle, DFTI_OUTPUT_STRIDES, forward ? shape.modes : shape.points));
  if (single) {
    check(DftiSetValue(handle, DFTI_BACKWARD_SCALE, static_cast<float>(1 / points)));
  } else {
    check(DftiSetValue(handle, DFTI_BACKWARD_SCALE, 1 / points));
  }
  check(DftiCommitDescriptor(handle));
  return handle;
}

/// `Real` is the type of the parts of complex items, of which a row has `row`.
template <class Real>
void measure(const bench::Arguments& args, bool real) {
  constexpr bool single = sizeof(Real) == 4;
  const int threads = args.number("threads", 1);
  const Shape shape(args.number("n", 256), real);
  const double plan_start = bench::now_s();
  auto* forward = plan(shape, single, real, true);
  auto* backward = plan(shape, single, real, false);
  const double plan_s = bench::now_s() - plan_start;

  const auto parts = static_cast<std::size_t>(real ? 1 : 2);
  const auto row = static_cast<std::size_t>(shape.row) * parts;
  const auto used = static_cast<std::size_t>(shape.n) * parts;
  const auto rows = static_cast<std::size_t>(shape.n * shape.n);
  std::vector<Real*> fields(static_cast<std::size_t>(args.number("fields", 1)));
  const auto value = [&](std::size_t f, std::size_t i) {
    return static_cast<Real>(bench::noise(f * rows * row + i));
  };
  for (std::size_t f = 0; f < fields.size(); ++f) {
    fields[f] = static_cast<Real*>(mkl_malloc(rows * row * sizeof(Real), 64));
    for (std::size_t i = 0; i < rows * row; ++i) fields[f][i] = value(f, i);
  }
  const auto seconds = bench::time_runs(args.number("warmups", 1), args.number("repeats", 5), [&] {
    for (auto* field : fields) check(DftiComputeForward(forward, field));
    for (auto* field : fields) check(DftiComputeBackward(backward, field));
  });
  double error = 0;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = r * row; i < r * row + used; ++i) {
        error = std::max(error, static_cast<double>(std::abs(fields[f][i] - value(f, i))));
      }
    }
  }
  bench::JsonLine()
      .text("entry", args.text("label", "MKL, " + std::to_string(threads) +
                                            (threads == 1 ? " thread" : " threads")))
      .numbers("seconds", seconds)
      .number("error", error)
      .number("plan_s", plan_s)
      .print();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  mkl_set_num_threads(args.number("threads", 1));
  const bool real = args.text("kind", "r2c") == "r2c";
  if (args.text("precision", "double") == "single") {
    measure<float>(args, real);
  } else {
    measure<double>(args, real);
  }
  return 0;
}
