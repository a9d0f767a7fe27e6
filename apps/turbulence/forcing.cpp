// SPDX-License-Identifier: BSD-3-Clause
#include "forcing.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/random.hpp"
#include "shells.hpp"

namespace tailrace::turbulence {

namespace {

constexpr std::uint32_t forcing_block = 0x46000000;  // apart from the draws of the initial field
constexpr std::ptrdiff_t max_table = 4000;

}  // namespace

template <class Real>
Forcing<Real>::Forcing(const Comm& comm, const Case& values, NavierStokes<Real>& flow)
    : sums_(comm, {.max_items = std::max(1, static_cast<int>(values.forcing.k_max))}, "mpi"),
      k_max_(values.forcing.k_max),
      sigma_(std::sqrt(values.forcing.variance)),
      time_scale_(values.forcing.time_scale),
      seed_(static_cast<std::uint64_t>(values.forcing.seed)) {
  if (values.forcing.type == "none") return;
  const double largest =
      largest_isotropic_wave_number(flow.options()) / unit_wave_number(flow.options());
  if (k_max_ > largest) {
    throw Error(Errc::invalid_input,
                fmt::format("forcing.k_max = {} is beyond the largest wave number of the grid, {} "
                            "(in units of the smallest)",
                            k_max_, largest));
  }
  if (values.forcing.type == "constant_energy") {
    type_ = Type::constant_energy;
    find_shells(flow);
    measure_shells(flow);
    state_ = shell_energy_;
  } else {
    type_ = Type::stochastic;
    find_table(flow);
    draw(-1, 0.0, sigma_);
  }
}

template <class Real>
void Forcing<Real>::find_shells(NavierStokes<Real>& flow) {
  const double unit = unit_wave_number(flow.options());
  const int last = static_cast<int>(k_max_);
  const auto& lengths = flow.options().lengths;
  for_each_mode(flow.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    const std::array<double, 3> k{2 * M_PI / lengths[2] * kx, 2 * M_PI / lengths[1] * ky,
                                  2 * M_PI / lengths[0] * kz};
    const int shell = shell_of(std::hypot(k[0], k[1], k[2]), unit);
    if (shell < 1 || shell > last) return;
    modes_.push_back({index, static_cast<std::size_t>(shell - 1), mirror_weight(kx), false, k});
  });
  shell_energy_.assign(static_cast<std::size_t>(last), 0.0);
}

template <class Real>
void Forcing<Real>::find_table(NavierStokes<Real>& flow) {
  const auto& lengths = flow.options().lengths;
  const double limit = k_max_ * unit_wave_number(flow.options()) * (1 + 1e-12);
  std::array<int, 3> reach{};  // x, y, z
  for (std::size_t d = 0; d < 3; ++d) {
    reach[d] = static_cast<int>(limit * lengths[2 - d] / (2 * M_PI));
  }
  const auto wave = [&](int kx, int ky, int kz) {
    return std::array<double, 3>{2 * M_PI / lengths[2] * kx, 2 * M_PI / lengths[1] * ky,
                                 2 * M_PI / lengths[0] * kz};
  };
  const auto forced = [&](int kx, int ky, int kz) {
    const auto k = wave(kx, ky, kz);
    return (kx != 0 || ky != 0 || kz != 0) && std::hypot(k[0], k[1], k[2]) <= limit;
  };
  for (int kx = 0; kx <= reach[0]; ++kx) {
    for (int ky = -reach[1]; ky <= reach[1]; ++ky) {
      for (int kz = -reach[2]; kz <= reach[2]; ++kz) {
        if (is_canonical(kx, ky, kz) && forced(kx, ky, kz)) table_.push_back({kx, ky, kz});
      }
    }
  }
  if (std::ssize(table_) > max_table) {
    throw Error(Errc::invalid_input,
                fmt::format("forcing.k_max = {} forces {} modes; at most {} can be forced", k_max_,
                            table_.size(), max_table));
  }
  for_each_mode(flow.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    if (!forced(kx, ky, kz)) return;
    const bool mirrored = !is_canonical(kx, ky, kz);
    const int s = mirrored ? -1 : 1;
    const std::array<int, 3> line{s * kx, s * ky, s * kz};
    const auto found = std::lower_bound(table_.begin(), table_.end(), line);
    modes_.push_back({index, static_cast<std::size_t>(found - table_.begin()), mirror_weight(kx),
                      mirrored, wave(kx, ky, kz)});
  });
  state_.assign(6 * table_.size(), 0.0);
  force_.resize(modes_.size());
}

/// state = keep * state + add * normal numbers of this step.
template <class Real>
void Forcing<Real>::draw(std::int64_t step, double keep, double add) {
  const auto low = static_cast<std::uint32_t>(step);
  const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(step) >> 32);
  for (std::size_t line = 0; line < table_.size(); ++line) {
    std::uint32_t packed = 0;  // 10 bits for each number: the table is far smaller than that
    for (const int k : table_[line]) packed = packed << 10 | (static_cast<std::uint32_t>(k) & 1023);
    for (std::uint32_t half = 0; half < 2; ++half) {
      const auto normal = app::normal_numbers({packed, low, high, forcing_block + half}, seed_);
      for (std::size_t n = 0; n < 3; ++n) {
        double& value = state_[6 * line + 3 * half + n];
        value = keep * value + add * normal[n];
      }
    }
  }
}

template <class Real>
void Forcing<Real>::before_step(NavierStokes<Real>& flow, double dt) {
  if (type_ != Type::stochastic) return;
  const double keep = std::exp(-dt / time_scale_);
  draw(flow.step_number(), keep, sigma_ * std::sqrt(1 - keep * keep));
  for (std::size_t m = 0; m < modes_.size(); ++m) {
    const Mode& mode = modes_[m];
    const double* line = &state_[6 * mode.entry];
    const double sign = mode.mirrored ? -1 : 1;
    std::array<std::complex<double>, 3> b;
    for (std::size_t c = 0; c < 3; ++c) b[c] = {line[2 * c], sign * line[2 * c + 1]};
    const auto& k = mode.k;
    const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
    const auto along = (k[0] * b[0] + k[1] * b[1] + k[2] * b[2]) / square;
    force_[m].index = mode.index;
    for (std::size_t c = 0; c < 3; ++c) {
      force_[m].acceleration[c] = std::complex<Real>(b[c] - k[c] * along);
    }
  }
  start_power_ = local_power(flow);
  flow.set_forcing(force_);
}

template <class Real>
void Forcing<Real>::measure_shells(NavierStokes<Real>& flow) {
  std::fill(shell_energy_.begin(), shell_energy_.end(), 0.0);
  for (int c = 0; c < 3; ++c) {
    const auto u = flow.velocity(c);
    for (const Mode& mode : modes_) {
      const std::complex<double> value(u[static_cast<std::size_t>(mode.index)]);
      shell_energy_[mode.entry] += 0.5 * mode.weight * std::norm(value);
    }
  }
  sums_.allreduce(std::span(shell_energy_));
}

template <class Real>
void Forcing<Real>::after_step(NavierStokes<Real>& flow, double dt) {
  if (type_ == Type::constant_energy) rescale_shells(flow, dt);
  // The force is held over the step, so the mean of both ends is right to second order.
  if (type_ == Type::stochastic) last_power_ = (start_power_ + local_power(flow)) / 2;
}

template <class Real>
void Forcing<Real>::rescale_shells(NavierStokes<Real>& flow, double dt) {
  measure_shells(flow);
  double gained = 0;
  for (std::size_t s = 0; s < state_.size(); ++s) {
    if (shell_energy_[s] > 0) gained += state_[s] - shell_energy_[s];
    shell_energy_[s] = shell_energy_[s] > 0 ? std::sqrt(state_[s] / shell_energy_[s]) : 1.0;
  }
  last_power_ = gained / dt;
  for (int c = 0; c < 3; ++c) {
    const auto u = flow.velocity(c);
    for (const Mode& mode : modes_) {
      u[static_cast<std::size_t>(mode.index)] *= static_cast<Real>(shell_energy_[mode.entry]);
    }
  }
}

template <class Real>
double Forcing<Real>::local_power(NavierStokes<Real>& flow) const {
  double sum = 0;
  for (std::size_t m = 0; m < modes_.size(); ++m) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::complex<double> u(
          flow.velocity(static_cast<int>(c))[static_cast<std::size_t>(modes_[m].index)]);
      const std::complex<double> f(force_[m].acceleration[c]);
      sum += modes_[m].weight * (u.real() * f.real() + u.imag() * f.imag());
    }
  }
  return sum;
}

template <class Real>
double Forcing<Real>::power() {
  return type_ == Type::stochastic ? sums_.allreduce(last_power_) : last_power_;
}

template <class Real>
bool Forcing<Real>::set_state(std::span<const double> state) {
  if (state.size() != state_.size()) return false;
  std::copy(state.begin(), state.end(), state_.begin());
  return true;
}

template class Forcing<float>;
template class Forcing<double>;

}  // namespace tailrace::turbulence
