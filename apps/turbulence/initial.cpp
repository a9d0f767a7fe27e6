// SPDX-License-Identifier: BSD-3-Clause
// Initial fields, set directly in spectral space: x, y, z stand for 2 pi x / Lx and so on.
#include "initial.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <numeric>

#include "common/random.hpp"
#include "shells.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::turbulence {

namespace {

using Vector = std::array<std::complex<double>, 3>;

constexpr std::complex<double> i_unit(0, 1);

int sign(int k) { return (k > 0) - (k < 0); }

/// (sin x cos y cos z, -cos x sin y cos z, 0) * amplitude, each of x, y, z times m.
Vector taylor_green_mode(int kx, int ky, int kz, int m, double amplitude) {
  if (std::abs(kx) != m || std::abs(ky) != m || std::abs(kz) != m) return {};
  return {-i_unit * (amplitude / 8 * sign(kx)), i_unit * (amplitude / 8 * sign(ky)), 0.0};
}

/// (A sin z + C cos y, B sin x + A cos z, C sin y + B cos x), each of x, y, z times m.
Vector abc_mode(int kx, int ky, int kz, int m, const Case& values) {
  const double a = values.flow.a / 2;
  const double b = values.flow.b / 2;
  const double c = values.flow.c / 2;
  if (kx == 0 && ky == 0 && std::abs(kz) == m) return {-i_unit * (a * sign(kz)), a, 0.0};
  if (kx == 0 && kz == 0 && std::abs(ky) == m) return {c, 0.0, -i_unit * (c * sign(ky))};
  if (ky == 0 && kz == 0 && std::abs(kx) == m) return {0.0, -i_unit * (b * sign(kx)), b};
  return {};
}

/// Counter of the random numbers of a mode; `block` tells the draws of one mode apart.
std::array<std::uint32_t, 4> counter_of(int kx, int ky, int kz, std::uint32_t block) {
  return {static_cast<std::uint32_t>(kx), static_cast<std::uint32_t>(ky),
          static_cast<std::uint32_t>(kz), block};
}

/// Three complex normal numbers of a mode; conjugate ones for its mirror image.
Vector random_mode(int kx, int ky, int kz, std::uint32_t block, std::uint64_t seed) {
  const bool canonical = is_canonical(kx, ky, kz);
  const int s = canonical ? 1 : -1;
  const auto first = app::normal_numbers(counter_of(s * kx, s * ky, s * kz, block), seed);
  const auto second = app::normal_numbers(counter_of(s * kx, s * ky, s * kz, block + 1), seed);
  Vector out{std::complex(first[0], first[1]), std::complex(first[2], first[3]),
             std::complex(second[0], second[1])};
  if (!canonical) {
    for (auto& value : out) value = std::conj(value);
  }
  return out;
}

/// Wave number vector [1/length] of mode numbers.
template <class Real>
std::array<double, 3> wave_vector(const NavierStokes<Real>& flow, int kx, int ky, int kz) {
  const auto& lengths = flow.options().lengths;
  return {2 * M_PI / lengths[2] * kx, 2 * M_PI / lengths[1] * ky, 2 * M_PI / lengths[0] * kz};
}

double norm(const std::array<double, 3>& k) { return std::hypot(k[0], k[1], k[2]); }

void remove_divergence(Vector& u, const std::array<double, 3>& k) {
  const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
  const auto along = (k[0] * u[0] + k[1] * u[1] + k[2] * u[2]) / square;
  for (std::size_t c = 0; c < 3; ++c) u[c] -= k[c] * along;
}

/// Scales `fields` so that `factor` * sum |field|^2 of each shell is `wanted[shell]`.
template <class Real>
void scale_shells(const Comm& comm, NavierStokes<Real>& flow,
                  std::span<const std::span<std::complex<Real>>> fields, double factor,
                  const std::vector<double>& wanted) {
  const double unit = unit_wave_number(flow.options());
  std::vector<double> scale(wanted.size(), 0.0);
  for_each_mode(flow.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    const int shell = shell_of(norm(wave_vector(flow, kx, ky, kz)), unit);
    for (const auto& field : fields) {
      const std::complex<double> value(field[static_cast<std::size_t>(index)]);
      scale[static_cast<std::size_t>(shell)] += mirror_weight(kx) * factor * std::norm(value);
    }
  });
  Reduction(comm, {.max_items = std::ssize(scale)}, "mpi").allreduce(std::span(scale));
  for (std::size_t s = 0; s < scale.size(); ++s) {
    scale[s] = scale[s] > 0 ? std::sqrt(wanted[s] / scale[s]) : 0.0;
  }
  for_each_mode(flow.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    const int shell = shell_of(norm(wave_vector(flow, kx, ky, kz)), unit);
    for (const auto& field : fields) {
      field[static_cast<std::size_t>(index)] *=
          static_cast<Real>(scale[static_cast<std::size_t>(shell)]);
    }
  });
}

/// Energy wanted in each shell, `total` in all: zero in those that the grid does not hold whole.
template <class Real>
std::vector<double> wanted_shells(const Case& values, NavierStokes<Real>& flow, double total) {
  const auto& options = flow.options();
  auto wanted = spectrum_shares(values.flow.exponent, values.flow.k_peak, num_shells(options));
  const double largest = largest_isotropic_wave_number(options) / unit_wave_number(options);
  for (std::size_t s = 0; s < wanted.size(); ++s) {
    if (static_cast<double>(s) + 0.5 > largest) wanted[s] = 0;
  }
  const double held = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  for (double& energy : wanted) energy *= held > 0 ? total / held : 0;
  return wanted;
}

template <class Real>
void set_mode(NavierStokes<Real>& flow, std::ptrdiff_t index, const Vector& value) {
  for (std::size_t c = 0; c < 3; ++c) {
    flow.velocity(static_cast<int>(c))[static_cast<std::size_t>(index)] =
        std::complex<Real>(value[c]);
  }
}

template <class Real>
void set_random_velocity(const Comm& comm, const Case& values, NavierStokes<Real>& flow) {
  const auto seed = static_cast<std::uint64_t>(values.flow.seed);
  for_each_mode(flow.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    Vector u{};
    if (kx != 0 || ky != 0 || kz != 0) {
      u = random_mode(kx, ky, kz, 0, seed);
      remove_divergence(u, wave_vector(flow, kx, ky, kz));
    }
    set_mode(flow, index, u);
  });
  const std::array<std::span<std::complex<Real>>, 3> fields{flow.velocity(0), flow.velocity(1),
                                                            flow.velocity(2)};
  scale_shells<Real>(comm, flow, fields, 0.5, wanted_shells(values, flow, values.flow.energy));
}

}  // namespace

std::vector<double> spectrum_shares(double exponent, double k_peak, int num_shells) {
  const auto shape = [&](int shell) {
    return std::pow(shell / k_peak, exponent) *
           std::exp(-exponent / 2 * (shell / k_peak) * (shell / k_peak));
  };
  double sum = 0;
  for (int s = 1; s <= static_cast<int>(20 * k_peak) + 20; ++s) sum += shape(s);
  std::vector<double> shares(static_cast<std::size_t>(num_shells), 0.0);
  for (int s = 1; s < num_shells; ++s) shares[static_cast<std::size_t>(s)] = shape(s) / sum;
  return shares;
}

template <class Real>
void set_initial_scalar(const Comm& comm, const Case& values, NavierStokes<Real>& flow, int index) {
  const auto field = flow.scalar(index);
  const bool random = values.scalars.initial == "random";
  const auto seed = static_cast<std::uint64_t>(values.flow.seed);
  const auto block = static_cast<std::uint32_t>(2 + 2 * index);
  for_each_mode(flow.modes(), [&](std::ptrdiff_t at, int kx, int ky, int kz) {
    const bool filled = random && (kx != 0 || ky != 0 || kz != 0);
    field[static_cast<std::size_t>(at)] =
        filled ? std::complex<Real>(random_mode(kx, ky, kz, block, seed)[0])
               : std::complex<Real>(0);
  });
  if (!random) return;
  const std::array<std::span<std::complex<Real>>, 1> fields{field};
  scale_shells<Real>(comm, flow, fields, 1.0, wanted_shells(values, flow, values.scalars.variance));
}

template <class Real>
void set_initial(const Comm& comm, const Case& values, NavierStokes<Real>& flow) {
  const int m = static_cast<int>(values.flow.wavenumber);
  if (values.flow.initial == "random") {
    set_random_velocity(comm, values, flow);
  } else {
    const bool abc = values.flow.initial == "abc";
    for_each_mode(flow.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
      set_mode(flow, index,
               abc ? abc_mode(kx, ky, kz, m, values)
                   : taylor_green_mode(kx, ky, kz, m, values.flow.amplitude));
    });
  }
  for (int s = 0; s < static_cast<int>(flow.options().scalars.size()); ++s) {
    set_initial_scalar(comm, values, flow, s);
  }
  flow.project();
}

template void set_initial<float>(const Comm&, const Case&, NavierStokes<float>&);
template void set_initial<double>(const Comm&, const Case&, NavierStokes<double>&);
template void set_initial_scalar<float>(const Comm&, const Case&, NavierStokes<float>&, int);
template void set_initial_scalar<double>(const Comm&, const Case&, NavierStokes<double>&, int);

}  // namespace tailrace::turbulence
