// SPDX-License-Identifier: BSD-3-Clause
#include "navier_stokes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/buffer.hpp"
#include "step_operator.hpp"

namespace tailrace::turbulence {

namespace {

constexpr double pi = std::numbers::pi;
constexpr std::size_t max_scalars = 24;

std::array<std::ptrdiff_t, 3> cutoffs(const NavierStokesOptions& options) {
  std::array<std::ptrdiff_t, 3> result{};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto n = options.extents[d];
    const auto sphere = static_cast<std::ptrdiff_t>(std::sqrt(2.0) * static_cast<double>(n) / 3);
    result[d] =
        options.dealias == Dealias::two_thirds ? (n - 1) / 3 : std::min(sphere, (n - 1) / 2);
  }
  return result;
}

fft::Problem make_problem(const Comm& comm, const NavierStokesOptions& options) {
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
  return {fft::Kind::real_to_complex, options.extents, cutoffs(options), options.grid, 1};
}

}  // namespace

template <class Real>
class NavierStokes<Real>::State {
 public:
  State(const Comm& comm_, const NavierStokesOptions& options_)
      : options(options_),
        comm(comm_.raw()),
        transform(comm_, make_problem(comm_, options_), options_.fft),
        fused(transform, shape(options_)),
        trace(options_.fft.trace) {
    set_wave_numbers();
    set_operator();
  }

  static fft::FusedShape shape(const NavierStokesOptions& options) {
    const int s = static_cast<int>(options.scalars.size());
    return {3 + s, 5 + 3 * s, 4 + 2 * s};
  }

  void set_wave_numbers();
  void set_operator();
  void set_kept();
  void set_half_shift();
  void set_decay(double dt);
  void run_substages(bool measuring);
  double reduce_rate() const;
  void make_hermitian(std::vector<Complex>& modes);
  std::size_t num_fields() const { return fields.size(); }

  NavierStokesOptions options;
  MPI_Comm comm;
  fft::Transform<Real> transform;
  fft::Fused<Real> fused;
  Trace* trace;
  StepOperator<Real> op;
  std::array<std::vector<double>, 3> k;  // of this rank's modes, (z, y, x)
  std::vector<std::vector<Complex>> fields;
  std::vector<Buffer> sums, sent;
  std::vector<Real*> captured;
  double time = 0;
  std::ptrdiff_t step_number = 0;
  double decay_dt = -1;
  Real rate = 0;
};

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
  op.largest_rate.assign(static_cast<std::size_t>(options.fft.threads), Real(0));
  captured.reserve(num);
  op.captured.reserve(num);
  for (std::size_t t = 0; t <= options.scalars.size(); ++t) {
    const double nu =
        t == 0 ? options.viscosity : options.viscosity / options.scalars[t - 1].schmidt;
    op.decay.push_back({nu, std::vector<Real>(modes.kz.size()), std::vector<Real>(modes.ky.size()),
                        std::vector<Real>(padded_kx, Real(1))});
  }
  if (options.dealias == Dealias::phase_shift) {
    set_kept();
    set_half_shift();
  }
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
        return static_cast<Real>(std::exp(-tables.diffusivity * number * number * t));
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

template <class Real>
double NavierStokes<Real>::State::reduce_rate() const {
  double largest = static_cast<double>(rate);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, comm));
  return largest;
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

template <class Real>
void NavierStokes<Real>::step(double dt) {
  auto& s = *state_;
  s.set_decay(dt);
  s.op.dt = static_cast<Real>(dt);
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

template class NavierStokes<float>;
template class NavierStokes<double>;

}  // namespace tailrace::turbulence
