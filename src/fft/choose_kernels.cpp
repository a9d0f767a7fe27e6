// SPDX-License-Identifier: BSD-3-Clause
// The kernel libraries differ by a factor of two to five, and the winner depends on length,
// precision and processor, so "auto" times them on the lines of this problem: some milliseconds.
#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "core/buffer.hpp"
#include "engine.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::fft {

namespace {

template <class Real>
Kernels<Real> make_all(const KernelLibrary& library, const Geometry& g) {
  Kernels<Real> kernels;
  kernels.y = library.make<Real>(g.y.points, false);
  kernels.z = g.z.points == g.y.points ? kernels.y : library.make<Real>(g.z.points, false);
  kernels.x = library.make<Real>(g.x.points, g.real());
  return kernels;
}

// One axis: time of a transform there and back, and the forward result for a fixed random panel.
template <class Real>
double measure(const Kernel<Real>& kernel, std::ptrdiff_t items, std::vector<Real>& result) {
  const auto room = std::max(items, kernel.scratch_items()) + lanes<Real>;
  Buffer buffer(room * static_cast<std::ptrdiff_t>(sizeof(Real)));
  Buffer scratch(room * static_cast<std::ptrdiff_t>(sizeof(Real)));
  std::mt19937 generator(1);
  std::uniform_real_distribution<Real> uniform(-1, 1);
  std::generate_n(buffer.as<Real>(), items, [&] { return uniform(generator); });
  const Real* forward = kernel.run(Direction::forward, buffer.as<Real>(), scratch.as<Real>());
  result.assign(forward, forward + items);
  double best = 1e30;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = now_s();
    for (int i = 0; i < 8; ++i) {
      std::fill_n(buffer.as<Real>(), items, Real(0.5));  // no growth to infinity
      kernel.run(Direction::forward, buffer.as<Real>(), scratch.as<Real>());
      kernel.run(Direction::backward, buffer.as<Real>(), scratch.as<Real>());
    }
    best = std::min(best, now_s() - start);
  }
  return best;
}

template <class Real>
bool agrees(const std::vector<Real>& result, const std::vector<Real>& reference) {
  Real largest = 0;
  Real error = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    largest = std::max(largest, std::abs(reference[i]));
    error = std::max(error, std::abs(result[i] - reference[i]));
  }
  return error <= (sizeof(Real) == 4 ? Real(1e-4) : Real(1e-11)) * largest;
}

template <class Real>
std::size_t find_fastest(const Geometry& g) {
  std::size_t best = 0;
  double best_s = 1e30;
  std::vector<Real> reference_x, reference_y, x, y;
  for (std::size_t i = 0; i < num_kernel_libraries(); ++i) {
    if (!kernel_library(i).available()) continue;
    const auto kernels = make_all<Real>(kernel_library(i), g);
    const auto x_items = g.x.points * (g.real() ? lanes<Real> : unit<Real>);
    const double seconds =
        measure(*kernels.x, x_items, x) + measure(*kernels.y, g.y.points * unit<Real>, y);
    if (i == 0) {
      reference_x = x;
      reference_y = y;
    }
    if (seconds < best_s && agrees(x, reference_x) && agrees(y, reference_y)) {
      best = i;
      best_s = seconds;
    }
  }
  return best;
}

}  // namespace

template <class Real>
Kernels<Real> choose_kernels(const Comm& comm, const Geometry& g, std::string& name) {
  if (name == "auto") {
    unsigned long chosen = comm.rank() == 0 ? find_fastest<Real>(g) : 0;
    check_mpi(MPI_Bcast(&chosen, 1, MPI_UNSIGNED_LONG, 0, comm.raw()));
    name = kernel_library(chosen).name;
  }
  const auto* library = find_kernel_library(name);
  std::string names = "auto";
  for (const auto& info : fft::kernels()) {
    if (info.available) names += fmt::format(", {}", info.name);
  }
  const bool usable = library != nullptr && library->available();
  require_all(comm.raw(), usable,
              fmt::format("FFT kernel library `{}` {}: use one of {}", name,
                          library == nullptr ? "is unknown" : "is not built in", names));
  return make_all<Real>(*library, g);
}

template Kernels<float> choose_kernels(const Comm&, const Geometry&, std::string&);
template Kernels<double> choose_kernels(const Comm&, const Geometry&, std::string&);

}  // namespace tailrace::fft
