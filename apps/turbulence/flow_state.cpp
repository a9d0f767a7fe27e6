// SPDX-License-Identifier: BSD-3-Clause
#include "flow_state.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace tailrace::turbulence {

namespace {

constexpr double pi = std::numbers::pi;
constexpr std::size_t max_scalars = 24;

}  // namespace

std::array<std::ptrdiff_t, 3> largest_modes(const NavierStokesOptions& options) {
  std::array<std::ptrdiff_t, 3> result{};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto n = options.extents[d];
    const auto sphere = static_cast<std::ptrdiff_t>(std::sqrt(2.0) * static_cast<double>(n) / 3);
    result[d] =
        options.dealias == Dealias::two_thirds ? (n - 1) / 3 : std::min(sphere, (n - 1) / 2);
  }
  return result;
}

fft::Problem transform_problem(const Comm& comm, const NavierStokesOptions& options) {
  std::string fault;
  for (std::size_t d = 0; d < 3; ++d) {
    if (options.extents[d] < 1) fault = fmt::format("grid extent {} < 1", options.extents[d]);
    if (!(options.lengths[d] > 0)) fault = fmt::format("box length {} <= 0", options.lengths[d]);
  }
  if (!(options.viscosity >= 0)) fault = fmt::format("viscosity {} < 0", options.viscosity);
  if (options.scalars.size() > max_scalars) {
    fault = fmt::format("{} scalars: at most {}", options.scalars.size(), max_scalars);
  }
  for (const auto& scalar : options.scalars) {
    if (!(scalar.schmidt > 0)) fault = fmt::format("Schmidt number {} <= 0", scalar.schmidt);
  }
  require_all(comm.raw(), fault.empty(), fault);
  return {fft::Kind::real_to_complex, options.extents, largest_modes(options), options.grid, 1};
}

template <class Real>
void NavierStokes<Real>::State::set_wave_numbers() {
  const auto& modes = transform.modes();
  const std::vector<int>* numbers[3] = {&modes.kz, &modes.ky, &modes.kx};
  for (std::size_t d = 0; d < 3; ++d) {
    for (const int number : *numbers[d]) k[d].push_back(2 * pi / options.lengths[d] * number);
  }
}

template <class Real>
void NavierStokes<Real>::State::set_operator() {
  constexpr auto w = static_cast<std::size_t>(fft::lanes<Real>);
  const auto& modes = transform.modes();
  op.scheme = options.scheme;
  op.scalars = options.scalars;
  for (const auto& scalar : options.scalars) {
    for (const double g : scalar.mean_gradient) op.has_gradient = op.has_gradient || g != 0;
  }
  op.extents = options.extents;
  op.box = transform.physical_box();
  op.kz.assign(k[0].begin(), k[0].end());
  op.ky.assign(k[1].begin(), k[1].end());
  op.kx.assign(k[2].begin(), k[2].end());
  op.kx_count = static_cast<std::ptrdiff_t>(modes.kx.size());
  const auto padded_kx = (modes.kx.size() + w - 1) / w * w;
  op.kx.resize(padded_kx, Real(0));
  const auto kept_y = transform.spectral_extents()[1];
  for (std::ptrdiff_t m = 0; m < kept_y; ++m) {
    const auto number = m <= kept_y / 2 ? m : m - kept_y;  // cut axes keep an odd number of modes
    op.ky_all.push_back(
        static_cast<Real>(2 * pi / options.lengths[1] * static_cast<double>(number)));
  }
  const double points = static_cast<double>(options.extents[0]) *
                        static_cast<double>(options.extents[1]) *
                        static_cast<double>(options.extents[2]);
  op.normalisation = static_cast<Real>(1 / points);
  for (std::size_t d = 0; d < 3; ++d) {
    op.inverse_spacing[2 - d] = static_cast<double>(options.extents[d]) / options.lengths[d];
  }
  allocate_fields(padded_kx);
  op.largest_rate.assign(static_cast<std::size_t>(options.fft.threads), Real(0));
  captured.reserve(fields.size());
  op.captured.reserve(fields.size());
  for (std::size_t t = 0; t <= options.scalars.size(); ++t) {
    const double nu =
        t == 0 ? options.viscosity : options.viscosity / options.scalars[t - 1].schmidt;
    op.decay.push_back({nu, std::vector<Real>(modes.kz.size()), std::vector<Real>(modes.ky.size()),
                        std::vector<Real>(padded_kx)});
  }
  if (options.dealias == Dealias::phase_shift) {
    set_kept();
    set_half_shift();
  }
}

template <class Real>
void NavierStokes<Real>::State::allocate_fields(std::size_t padded_kx) {
  const auto& modes = transform.modes();
  const std::size_t num = 3 + options.scalars.size();
  const auto panel_bytes =
      static_cast<std::ptrdiff_t>(modes.ky.size() * modes.kz.size() * padded_kx * sizeof(Complex));
  for (std::size_t f = 0; f < num; ++f) {
    fields.emplace_back(static_cast<std::size_t>(modes.num_modes()));
    sums.emplace_back(panel_bytes);
    if (f < 3 && op.has_gradient) sent.emplace_back(panel_bytes);
  }
  for (auto& field : fields) op.fields.push_back(field.data());
  for (auto& field : sums) op.sums.push_back(field.template as<Real>());
  for (auto& field : sent) op.sent.push_back(field.template as<Real>());
}

// The sphere (k_x / n_x)^2 + (k_y / n_y)^2 + (k_z / n_z)^2 <= 2 / 9, as a number of kx a line.
template <class Real>
void NavierStokes<Real>::State::set_kept() {
  const auto& modes = transform.modes();
  const auto squared = [&](int number, std::size_t axis) {
    const double r = number / static_cast<double>(options.extents[axis]);
    return r * r;
  };
  for (const int ky : modes.ky) {
    for (const int kz : modes.kz) {
      const double rest = 2.0 / 9 - squared(ky, 1) - squared(kz, 0);
      op.kx_kept.push_back(
          static_cast<int>(std::count_if(modes.kx.begin(), modes.kx.end(), [&](int kx) {
            return squared(kx, 2) <= rest * (1 + 1e-12);
          })));
    }
  }
}

template <class Real>
void NavierStokes<Real>::State::set_half_shift() {
  const auto& modes = transform.modes();
  const std::vector<int>* numbers[3] = {&modes.kz, &modes.ky, &modes.kx};
  for (std::size_t d = 0; d < 3; ++d) {
    for (const int number : *numbers[d]) {
      op.half_shift[d].push_back(static_cast<Complex>(
          std::polar(1.0, pi * number / static_cast<double>(options.extents[d]))));
    }
  }
  op.half_shift[2].resize(op.kx.size(), Complex(1));
}

template <class Real>
void NavierStokes<Real>::State::set_decay(double dt) {
  if (dt == decay_dt) return;
  decay_dt = dt;
  const double t = options.scheme == Scheme::rk4 ? dt / 2 : dt;
  for (auto& tables : op.decay) {
    const auto fill = [&](const std::vector<double>& numbers, std::vector<Real>& table) {
      std::transform(numbers.begin(), numbers.end(), table.begin(), [&](double number) {
        return static_cast<Real>(std::expm1(-tables.diffusivity * number * number * t));
      });
    };
    fill(k[0], tables.z);
    fill(k[1], tables.y);
    fill(k[2], tables.x);
  }
}

template <class Real>
void NavierStokes<Real>::State::run_substages(bool measuring) {
  const int last = measuring ? 1 : (options.scheme == Scheme::rk4 ? 4 : 2);
  op.measuring = measuring;
  op.substage = 0;
  std::fill(op.largest_rate.begin(), op.largest_rate.end(), Real(0));
  fused.spectral_pass(op, false, true);
  for (int substage = 1; substage <= last; ++substage) {
    fused.physical_pass(op);
    op.substage = substage;
    fused.spectral_pass(op, true, substage < last);
  }
  rate = *std::max_element(op.largest_rate.begin(), op.largest_rate.end());
}

// To physical space and back: what comes back is the spectrum of a real field.
template <class Real>
void NavierStokes<Real>::State::make_hermitian(std::vector<Complex>& modes) {
  std::vector<Real> physical(static_cast<std::size_t>(transform.physical_box().num_items()));
  const Complex* in[1] = {modes.data()};
  Real* out[1] = {physical.data()};
  transform.backward(std::span<const Complex* const>(in), std::span<Real* const>(out));
  for (auto& value : physical) value *= op.normalisation;
  const Real* again[1] = {physical.data()};
  Complex* back[1] = {modes.data()};
  transform.forward(std::span<const Real* const>(again), std::span<Complex* const>(back));
}

template class NavierStokes<float>::State;
template class NavierStokes<double>::State;

}  // namespace tailrace::turbulence
