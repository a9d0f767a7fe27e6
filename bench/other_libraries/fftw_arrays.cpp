// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transform of some axes of an array by FFTW on one core, out of place, planned
// with MEASURE, wisdom kept: cosine and sine transforms of the field by one plan, then the Fourier
// transforms by another. In double precision.

#include <fftw3.h>

#include <algorithm>
#include <vector>

#include "array_shape.hpp"
#include "fftw_kinds.hpp"

namespace {

struct Array {
  std::vector<int> extents;
  int parts;  ///< 2: complex items as two real ones each
  int stride(std::size_t axis) const {
    int items = 1;
    for (auto next = axis + 1; next < extents.size(); ++next) items *= extents[next];
    return items;
  }
};

std::vector<fftw_iodim> dimensions(const std::vector<int>& axes, const Array& from,
                                   const Array& to) {
  std::vector<fftw_iodim> found;
  for (const int one : axes) {
    const auto axis = static_cast<std::size_t>(one);
    const int points = std::max(from.extents[axis], to.extents[axis]);  // modes may be half as many
    found.push_back({points, from.stride(axis), to.stride(axis)});
  }
  return found;
}

/// The axes of an array that are not in `axes`.
std::vector<int> others(const std::vector<int>& axes, std::size_t num_axes) {
  std::vector<int> found;
  for (int axis = 0; axis < static_cast<int>(num_axes); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) found.push_back(axis);
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const bench::ArrayShape shape(args);
  const bool real = args.text("kind", "r2c") == "r2c";
  const std::string wisdom = args.text("wisdom", "");
  if (!wisdom.empty()) fftw_import_wisdom_from_filename(wisdom.c_str());
  const auto waves = shape.axes_of(false), fourier = shape.axes_of(true);
  const auto num_parts = [&](bool complex_items) { return complex_items ? 2 : 1; };
  Array points{{}, num_parts(!real)}, modes{{}, num_parts(!real || !fourier.empty())};
  for (const auto extent : shape.extents) points.extents.push_back(static_cast<int>(extent));
  for (const auto extent : shape.modes(real)) modes.extents.push_back(static_cast<int>(extent));
  const auto items = [](const Array& array) {
    return static_cast<std::size_t>(array.stride(0) * array.extents[0] * array.parts);
  };
  const auto count = items(points);
  auto* field = fftw_alloc_real(count);
  auto* back = fftw_alloc_real(count);
  auto* middle = waves.empty() || fourier.empty() ? nullptr : fftw_alloc_real(count);
  auto* spectrum = fftw_alloc_real(items(modes));

  // Cosines and sines act on the parts of complex items, which are one more dimension.
  const auto plan_waves = [&](double* from, double* to, bool inverse) {
    auto dims = dimensions(waves, points, points);
    auto batches = dimensions(others(waves, shape.extents.size()), points, points);
    for (auto* list : {&dims, &batches}) {
      for (auto& one : *list) {
        one.is *= points.parts;
        one.os *= points.parts;
      }
    }
    batches.push_back({points.parts, 1, 1});
    std::vector<fftw_r2r_kind> kinds;
    for (const int axis : waves) kinds.push_back(bench::fftw_kind(shape.kind(axis), inverse));
    return fftw_plan_guru_r2r(static_cast<int>(dims.size()), dims.data(),
                              static_cast<int>(batches.size()), batches.data(), from, to,
                              kinds.data(), FFTW_MEASURE | FFTW_DESTROY_INPUT);
  };
  const auto plan_fourier = [&](double* from, double* to, bool inverse) {
    const auto& before = inverse ? modes : points;
    const auto& after = inverse ? points : modes;
    const auto dims = dimensions(fourier, before, after);
    const auto batches = dimensions(others(fourier, shape.extents.size()), before, after);
    auto* in = reinterpret_cast<fftw_complex*>(from);
    auto* out = reinterpret_cast<fftw_complex*>(to);
    const auto num_dims = static_cast<int>(dims.size()), num = static_cast<int>(batches.size());
    constexpr unsigned how = FFTW_MEASURE | FFTW_DESTROY_INPUT;
    if (!real) {
      return fftw_plan_guru_dft(num_dims, dims.data(), num, batches.data(), in, out,
                                inverse ? FFTW_BACKWARD : FFTW_FORWARD, how);
    }
    return inverse
               ? fftw_plan_guru_dft_c2r(num_dims, dims.data(), num, batches.data(), in, to, how)
               : fftw_plan_guru_dft_r2c(num_dims, dims.data(), num, batches.data(), from, out, how);
  };
  const double plan_start = bench::now_s();
  std::vector<fftw_plan> plans;
  if (!waves.empty()) plans.push_back(plan_waves(field, middle ? middle : spectrum, false));
  if (!fourier.empty()) plans.push_back(plan_fourier(middle ? middle : field, spectrum, false));
  if (!fourier.empty()) plans.push_back(plan_fourier(spectrum, middle ? middle : back, true));
  if (!waves.empty()) plans.push_back(plan_waves(middle ? middle : spectrum, back, true));
  const double plan_s = bench::now_s() - plan_start;
  for (const auto& plan : plans) {
    if (plan != nullptr) continue;
    std::fprintf(stderr, "bench_fftw_arrays: FFTW has no plan\n");
    return 1;
  }
  if (!wisdom.empty()) fftw_export_wisdom_to_filename(wisdom.c_str());

  std::vector<double> seconds;
  for (int i = 0; i < args.number("warmups", 1) + args.number("repeats", 5); ++i) {
    for (std::size_t p = 0; p < count; ++p) field[p] = bench::noise(p);  // plans destroy it
    const double start = bench::now_s();
    for (const auto& plan : plans) fftw_execute(plan);
    if (i >= args.number("warmups", 1)) seconds.push_back(bench::now_s() - start);
  }
  double error = 0;
  for (std::size_t p = 0; p < count; ++p) {
    error = std::max(error, std::abs(back[p] / shape.size() - bench::noise(p)));
  }
  bench::JsonLine()
      .text("entry", args.text("label", "FFTW"))
      .numbers("seconds", seconds)
      .number("error", error)
      .number("points", static_cast<double>(shape.num_points()))
      .number("plan_s", plan_s)
      .print();
  return 0;
}
