// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transforms of a cube, or of some axes of an array, by ducc0, out of place, on
// `--threads` threads; `--fields` one after another.

#include <complex>
#include <type_traits>
#include <vector>

#include "array_shape.hpp"
// Its sources: only what is called here is compiled, a fifth of its transforms' templates.
#include "ducc0/fft/fftnd_impl.h"
#include "ducc0/infra/mav.cc"
#include "ducc0/infra/string_utils.cc"
#include "ducc0/infra/threading.cc"

namespace {

using Shape = ducc0::fmav_info::shape_t;

Shape numbers(const std::vector<int>& axes) { return {axes.begin(), axes.end()}; }

/// Cosine and sine transforms of the axes of `from`, which may be `to`; of complex items, whose
/// parts are one more axis, they act on each part.
template <class Real>
void run_waves(const bench::ArrayShape& shape, const Shape& points, const Real* from, Real* to,
               bool inverse, Real scale, std::size_t threads) {
  for (const int axis : shape.axes_of(false)) {
    const auto& kind = shape.kind(axis);
    const int number = kind.back() - '0';
    const int type = inverse && (number == 2 || number == 3) ? 5 - number : number;
    const auto run = kind.rfind("dct", 0) == 0 ? ducc0::dct<Real> : ducc0::dst<Real>;
    run(ducc0::cfmav<Real>(from, points), ducc0::vfmav<Real>(to, points),
        {static_cast<std::size_t>(axis)}, type, scale, false, threads);
    from = to;
    scale = 1;
  }
}

/// Forward and backward: waves of the field, then Fourier transforms. `middle` holds a field.
template <class Real>
void run(const bench::ArrayShape& shape, const Real* field, std::complex<Real>* modes, Real* middle,
         Real* back, std::size_t threads) {
  const Shape points(shape.extents.begin(), shape.extents.end()), half = shape.modes(true);
  const auto scale = static_cast<Real>(1 / shape.size());
  const bool has_waves = !shape.axes_of(false).empty();
  const auto fourier = numbers(shape.axes_of(true));
  if (has_waves) run_waves(shape, points, field, middle, false, Real(1), threads);
  if (fourier.empty()) return run_waves(shape, points, middle, back, true, scale, threads);
  ducc0::r2c(ducc0::cfmav<Real>(has_waves ? middle : field, points),
             ducc0::vfmav<std::complex<Real>>(modes, half), fourier, true, Real(1), threads);
  ducc0::c2r_mut(ducc0::vfmav<std::complex<Real>>(modes, half), ducc0::vfmav<Real>(back, points),
                 fourier, false, scale, threads);
  if (has_waves) run_waves(shape, points, back, back, true, Real(1), threads);
}
template <class Real>
void run(const bench::ArrayShape& shape, const std::complex<Real>* field, std::complex<Real>* modes,
         std::complex<Real>* middle, std::complex<Real>* back, std::size_t threads) {
  using Complex = std::complex<Real>;
  const auto parts = [](auto* items) { return reinterpret_cast<Real*>(items); };
  const Shape points(shape.extents.begin(), shape.extents.end());
  auto in_parts = points;
  in_parts.push_back(2);
  const auto scale = static_cast<Real>(1 / shape.size());
  const bool has_waves = !shape.axes_of(false).empty();
  const auto fourier = numbers(shape.axes_of(true));
  if (has_waves) {
    run_waves(shape, in_parts, reinterpret_cast<const Real*>(field), parts(middle), false, Real(1),
              threads);
  }
  if (fourier.empty()) {
    return run_waves(shape, in_parts, parts(middle), parts(back), true, scale, threads);
  }
  ducc0::c2c(ducc0::cfmav<Complex>(has_waves ? middle : field, points),
             ducc0::vfmav<Complex>(modes, points), fourier, true, Real(1), threads);
  ducc0::c2c(ducc0::cfmav<Complex>(modes, points), ducc0::vfmav<Complex>(back, points), fourier,
             false, scale, threads);
  if (has_waves) run_waves(shape, in_parts, parts(back), parts(back), true, Real(1), threads);
}

template <class Real, class Item>
void measure(const bench::Arguments& args) {
  const bench::ArrayShape shape(args);
  const auto threads = static_cast<std::size_t>(args.number("threads", 1));
  const auto num_fields = static_cast<std::size_t>(args.number("fields", 1));
  const auto points = shape.num_points();
  std::size_t num_modes = 1;
  for (const auto extent : shape.modes(std::is_same_v<Real, Item>)) num_modes *= extent;
  std::vector<std::vector<Item>> fields(num_fields, std::vector<Item>(points));
  std::vector<std::vector<std::complex<Real>>> modes(num_fields,
                                                     std::vector<std::complex<Real>>(num_modes));
  std::vector<Item> middle(shape.axes_of(false).empty() ? 0 : points);
  std::size_t next = 0;
  for (auto& field : fields) {
    for (auto& item : field) item = static_cast<Real>(bench::noise(next++));
  }
  auto back = fields;
  const auto seconds = bench::time_runs(args.number("warmups", 1), args.number("repeats", 5), [&] {
    for (std::size_t f = 0; f < num_fields; ++f) {
      run(shape, fields[f].data(), modes[f].data(), middle.data(), back[f].data(), threads);
    }
  });
  double error = 0;
  for (std::size_t f = 0; f < num_fields; ++f) {
    for (std::size_t i = 0; i < points; ++i) {
      error = std::max(error, static_cast<double>(std::abs(back[f][i] - fields[f][i])));
    }
  }
  bench::JsonLine()
      .text("entry", args.text("label", "ducc0, " + std::to_string(threads) +
                                            (threads == 1 ? " thread" : " threads")))
      .numbers("seconds", seconds)
      .number("error", error)
      .number("points", static_cast<double>(points))
      .number("plan_s", 0.0)
      .print();
}

template <class Real>
void measure_kind(const bench::Arguments& args) {
  if (args.text("kind", "r2c") == "c2c") return measure<Real, std::complex<Real>>(args);
  measure<Real, Real>(args);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  if (args.text("precision", "double") == "single") {
    measure_kind<float>(args);
  } else {
    measure_kind<double>(args);
  }
  return 0;
}
