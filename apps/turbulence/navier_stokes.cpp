// SPDX-License-Identifier: BSD-3-Clause
#include "navier_stokes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "flow_state.hpp"

namespace tailrace::turbulence {

template <class Real>
NavierStokes<Real>::NavierStokes(const Comm& comm, const NavierStokesOptions& options)
    : state_(std::make_unique<State>(comm, options)) {}
template <class Real>
NavierStokes<Real>::~NavierStokes() = default;

template <class Real>
const NavierStokesOptions& NavierStokes<Real>::options() const {
  return state_->options;
}
template <class Real>
fft::Transform<Real>& NavierStokes<Real>::transform() {
  return state_->transform;
}
template <class Real>
const fft::Modes& NavierStokes<Real>::modes() const {
  return state_->transform.modes();
}
template <class Real>
std::span<const double> NavierStokes<Real>::kx() const {
  return state_->k[2];
}
template <class Real>
std::span<const double> NavierStokes<Real>::ky() const {
  return state_->k[1];
}
template <class Real>
std::span<const double> NavierStokes<Real>::kz() const {
  return state_->k[0];
}
template <class Real>
bool NavierStokes<Real>::kept(std::ptrdiff_t j, std::ptrdiff_t l, std::ptrdiff_t i) const {
  const auto& limits = state_->op.kx_kept;
  return limits.empty() || i < limits[static_cast<std::size_t>(j) * state_->k[0].size() +
                                      static_cast<std::size_t>(l)];
}

template <class Real>
auto NavierStokes<Real>::velocity(int component) -> std::span<Complex> {
  return state_->fields[static_cast<std::size_t>(component)];
}
template <class Real>
auto NavierStokes<Real>::scalar(int index) -> std::span<Complex> {
  return state_->fields[static_cast<std::size_t>(3 + index)];
}

template <class Real>
void NavierStokes<Real>::project() {
  auto& s = *state_;
  const auto& modes = s.transform.modes();
  auto &u = s.fields[0], &v = s.fields[1], &w = s.fields[2];
  std::size_t at = 0;
  for (std::size_t j = 0; j < modes.ky.size(); ++j) {
    for (std::size_t l = 0; l < modes.kz.size(); ++l) {
      for (std::size_t i = 0; i < modes.kx.size(); ++i, ++at) {
        const double x = s.k[2][i], y = s.k[1][j], z = s.k[0][l];
        const double k2 = x * x + y * y + z * z;
        if (!kept(static_cast<std::ptrdiff_t>(j), static_cast<std::ptrdiff_t>(l),
                  static_cast<std::ptrdiff_t>(i))) {
          for (auto& field : s.fields) field[at] = 0;
        } else if (k2 > 0) {
          const Complex along = (static_cast<Real>(x) * u[at] + static_cast<Real>(y) * v[at] +
                                 static_cast<Real>(z) * w[at]) /
                                static_cast<Real>(k2);
          u[at] -= static_cast<Real>(x) * along;
          v[at] -= static_cast<Real>(y) * along;
          w[at] -= static_cast<Real>(z) * along;
        }
      }
    }
  }
  for (auto& field : s.fields) s.make_hermitian(field);
}

namespace {

/// Number `n` of the Weyl sequence of the golden ratio, less 1/2: any run of them is spread evenly
/// over -1/2 .. 1/2.
double weyl_number(std::ptrdiff_t n) {
  return static_cast<double>(static_cast<std::uint64_t>(n) * 0x9E3779B97F4A7C15) * 0x1p-64 - 0.5;
}

}  // namespace

template <class Real>
void NavierStokes<Real>::step(double dt) {
  auto& s = *state_;
  s.set_decay(dt);
  s.op.dt = static_cast<Real>(dt);
  s.op.rounding_shift = static_cast<Real>(weyl_number(s.step_number));
  s.op.captured = s.captured;
  s.run_substages(false);
  s.captured.clear();
  s.time += dt;
  ++s.step_number;
}

template <class Real>
double NavierStokes<Real>::time() const {
  return state_->time;
}
template <class Real>
std::ptrdiff_t NavierStokes<Real>::step_number() const {
  return state_->step_number;
}
template <class Real>
void NavierStokes<Real>::set_time(double time, std::ptrdiff_t step_number) {
  state_->time = time;
  state_->step_number = step_number;
}

template <class Real>
void NavierStokes<Real>::set_forcing(std::span<const ForcedMode<Real>> modes) {
  auto& s = *state_;
  const auto num_lines = s.k[0].size() * s.k[1].size();
  const auto line = static_cast<std::ptrdiff_t>(s.k[2].size());
  s.op.forced.assign(modes.begin(), modes.end());
  s.op.forced_start.assign(num_lines + 1, 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < num_lines; ++i) {
    s.op.forced_start[i] = static_cast<std::ptrdiff_t>(at);
    const auto end = static_cast<std::ptrdiff_t>(i + 1) * line;
    while (at < s.op.forced.size() && s.op.forced[at].index < end) ++at;
  }
  s.op.forced_start[num_lines] = static_cast<std::ptrdiff_t>(at);
}

template <class Real>
void NavierStokes<Real>::capture(std::span<Real* const> fields) {
  state_->captured.assign(fields.begin(), fields.end());
}

template <class Real>
void NavierStokes<Real>::to_physical(std::span<Real* const> fields) {
  auto& s = *state_;
  for (std::size_t f = 0; f < std::min(fields.size(), s.num_fields()); ++f) {
    if (fields[f] == nullptr) continue;
    const Complex* in[1] = {s.fields[f].data()};
    s.transform.backward(std::span<const Complex* const>(in), fields.subspan(f, 1));
  }
}

template <class Real>
double NavierStokes<Real>::courant_rate() const {
  return state_->reduce_rate();
}
template <class Real>
double NavierStokes<Real>::measure_courant_rate() {
  state_->op.captured.clear();
  state_->run_substages(true);
  return state_->reduce_rate();
}

template <class Real>
bool NavierStokes<Real>::was_finite() const {
  return std::isfinite(state_->rate);
}
template <class Real>
bool NavierStokes<Real>::was_finite_everywhere() const {
  return state_->largest.allreduce(was_finite() ? 0 : 1, ReduceOp::max) == 0;
}
template <class Real>
bool NavierStokes<Real>::is_finite() const {
  int bad = 0;
  for (const auto& field : state_->fields) {
    Real sum = 0;  // of zeros, or nan
    for (const Complex& mode : field)
      sum += (mode.real() - mode.real()) + (mode.imag() - mode.imag());
    if (sum != 0) bad = 1;
  }
  return state_->largest.allreduce(bad, ReduceOp::max) == 0;
}

template <class Real>
std::ptrdiff_t NavierStokes<Real>::memory_bytes() const {
  const auto& s = *state_;
  std::ptrdiff_t bytes = s.fused.buffer_bytes() + s.transform.buffer_bytes();
  for (const auto& field : s.fields) {
    bytes += std::ssize(field) * static_cast<std::ptrdiff_t>(sizeof(Complex));
  }
  for (const auto* list : {&s.sums, &s.sent}) {
    for (const auto& buffer : *list) bytes += buffer.bytes();
  }
  return bytes;
}

// On average over its substages a step reads each field and its sum, and writes the sum, but in the
// first substage and the last (`advance` of step_operator.cpp).
template <class Real>
fft::PassCosts NavierStokes<Real>::measure_costs() const {
  const auto& s = *state_;
  const double arrays = s.options.scheme == Scheme::rk4 ? 2.75 : 2.5;
  const auto modes = static_cast<double>(s.transform.modes().num_modes());
  return s.fused.measure_costs(static_cast<double>(s.num_fields()) * modes * sizeof(Complex) *
                               arrays);
}

template class NavierStokes<float>;
template class NavierStokes<double>;

}  // namespace tailrace::turbulence
