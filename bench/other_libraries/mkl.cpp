// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward Fourier transforms of a cube, or of the last axes of an array, by MKL's DFTI,
// in place, on `--threads` threads; `--fields` one after another.

#include <mkl_dfti.h>
#include <mkl_service.h>

#include <vector>

#include "array_shape.hpp"

namespace {

void check(MKL_LONG status) {
  if (status == 0) return;
  std::fprintf(stderr, "bench_mkl: %s\n", DftiErrorMessage(status));
  std::exit(1);
}

/// How rows lie, in items: real ones are padded, so that the spectrum fits in their place. Axes
/// before those that are transformed are batches.
struct Shape {
  MKL_LONG row, half, rows, batches = 1;
  std::vector<MKL_LONG> lengths, points{0}, modes{0};
  double size;
  Shape(const bench::ArrayShape& shape, bool real) : size(shape.size()) {
    const auto first = static_cast<std::size_t>(shape.axes.front());
    for (std::size_t axis = 0; axis < shape.extents.size(); ++axis) {
      const auto extent = static_cast<MKL_LONG>(shape.extents[axis]);
      if (axis < first) {
        batches *= extent;
      } else {
        lengths.push_back(extent);
      }
    }
    row = real ? 2 * (lengths.back() / 2 + 1) : lengths.back();
    half = real ? lengths.back() / 2 + 1 : lengths.back();
    rows = batches;
    MKL_LONG inner = 1;
    for (auto axis = lengths.size(); axis-- > 0;) {
      points.insert(points.begin() + 1, axis + 1 == lengths.size() ? 1 : row * inner);
      modes.insert(modes.begin() + 1, axis + 1 == lengths.size() ? 1 : half * inner);
      if (axis + 1 < lengths.size()) inner *= lengths[axis];
    }
    rows *= inner;
  }
  MKL_LONG distance(bool of_points) const { return rows / batches * (of_points ? row : half); }
};

DFTI_DESCRIPTOR_HANDLE plan(const Shape& shape, bool single, bool real, bool forward) {
  DFTI_DESCRIPTOR_HANDLE handle = nullptr;
  const auto precision = single ? DFTI_SINGLE : DFTI_DOUBLE;
  const auto domain = real ? DFTI_REAL : DFTI_COMPLEX;
  const auto dims = static_cast<MKL_LONG>(shape.lengths.size());
  check(dims == 1 ? DftiCreateDescriptor(&handle, precision, domain, dims, shape.lengths[0])
                  : DftiCreateDescriptor(&handle, precision, domain, dims, shape.lengths.data()));
  if (real) check(DftiSetValue(handle, DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX));
  check(DftiSetValue(handle, DFTI_PLACEMENT, DFTI_INPLACE));
  check(
      DftiSetValue(handle, DFTI_INPUT_STRIDES, forward ? shape.points.data() : shape.modes.data()));
  check(DftiSetValue(handle, DFTI_OUTPUT_STRIDES,
                     forward ? shape.modes.data() : shape.points.data()));
  check(DftiSetValue(handle, DFTI_NUMBER_OF_TRANSFORMS, shape.batches));
  check(DftiSetValue(handle, DFTI_INPUT_DISTANCE, shape.distance(forward)));
  check(DftiSetValue(handle, DFTI_OUTPUT_DISTANCE, shape.distance(!forward)));
  if (single) {
    check(DftiSetValue(handle, DFTI_BACKWARD_SCALE, static_cast<float>(1 / shape.size)));
  } else {
    check(DftiSetValue(handle, DFTI_BACKWARD_SCALE, 1 / shape.size));
  }
  check(DftiCommitDescriptor(handle));
  return handle;
}

/// `Real` is the type of the parts of complex items, of which a row has `row`.
template <class Real>
void measure(const bench::Arguments& args, bool real) {
  constexpr bool single = sizeof(Real) == 4;
  const int threads = args.number("threads", 1);
  const bench::ArrayShape array(args);
  const Shape shape(array, real);
  const double plan_start = bench::now_s();
  auto* forward = plan(shape, single, real, true);
  auto* backward = plan(shape, single, real, false);
  const double plan_s = bench::now_s() - plan_start;

  const auto parts = static_cast<std::size_t>(real ? 1 : 2);
  const auto row = static_cast<std::size_t>(shape.row) * parts;
  const auto used = static_cast<std::size_t>(shape.lengths.back()) * parts;
  const auto rows = static_cast<std::size_t>(shape.rows);
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
      .number("points", static_cast<double>(array.num_points()))
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
