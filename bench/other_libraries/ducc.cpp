// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transforms by ducc0, out of place, on `--threads` threads; `--fields` one
// after another.

#include <complex>
#include <type_traits>
#include <vector>

#include "driver.hpp"
// Its sources: only what is called here is compiled, a fifth of its transforms' templates.
#include "ducc0/fft/fftnd_impl.h"
#include "ducc0/infra/mav.cc"
#include "ducc0/infra/string_utils.cc"
#include "ducc0/infra/threading.cc"

namespace {

using Shape = ducc0::fmav_info::shape_t;

template <class Real>
void run(const Real* field, std::complex<Real>* modes, Real* back, std::size_t n,
         std::size_t threads) {
  const Shape points{n, n, n}, half{n, n, n / 2 + 1};
  const auto scale = Real(1) / static_cast<Real>(n * n * n);
  ducc0::r2c(ducc0::cfmav<Real>(field, points), ducc0::vfmav<std::complex<Real>>(modes, half),
             {0, 1, 2}, true, Real(1), threads);
  ducc0::c2r_mut(ducc0::vfmav<std::complex<Real>>(modes, half), ducc0::vfmav<Real>(back, points),
                 {0, 1, 2}, false, scale, threads);
}
template <class Real>
void run(const std::complex<Real>* field, std::complex<Real>* modes, std::complex<Real>* back,
         std::size_t n, std::size_t threads) {
  using Complex = std::complex<Real>;
  const Shape points{n, n, n};
  const auto scale = Real(1) / static_cast<Real>(n * n * n);
  ducc0::c2c(ducc0::cfmav<Complex>(field, points), ducc0::vfmav<Complex>(modes, points), {0, 1, 2},
             true, Real(1), threads);
  ducc0::c2c(ducc0::cfmav<Complex>(modes, points), ducc0::vfmav<Complex>(back, points), {0, 1, 2},
             false, scale, threads);
}

template <class Real, class Item>
void measure(const bench::Arguments& args) {
  const auto n = static_cast<std::size_t>(args.number("n", 256));
  const auto threads = static_cast<std::size_t>(args.number("threads", 1));
  const auto num_fields = static_cast<std::size_t>(args.number("fields", 1));
  const auto row = std::is_same_v<Real, Item> ? n / 2 + 1 : n;
  std::vector<std::vector<Item>> fields(num_fields, std::vector<Item>(n * n * n));
  std::vector<std::vector<std::complex<Real>>> modes(num_fields,
                                                     std::vector<std::complex<Real>>(n * n * row));
  std::size_t next = 0;
  for (auto& field : fields) {
    for (auto& item : field) item = static_cast<Real>(bench::noise(next++));
  }
  auto back = fields;
  const auto seconds = bench::time_runs(args.number("warmups", 1), args.number("repeats", 5), [&] {
    for (std::size_t f = 0; f < num_fields; ++f) {
      run(fields[f].data(), modes[f].data(), back[f].data(), n, threads);
    }
  });
  double error = 0;
  for (std::size_t f = 0; f < num_fields; ++f) {
    for (std::size_t i = 0; i < n * n * n; ++i) {
      error = std::max(error, static_cast<double>(std::abs(back[f][i] - fields[f][i])));
    }
  }
  bench::JsonLine()
      .text("entry", args.text("label", "ducc0, " + std::to_string(threads) +
                                            (threads == 1 ? " thread" : " threads")))
      .numbers("seconds", seconds)
      .number("error", error)
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
