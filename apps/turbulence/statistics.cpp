// SPDX-License-Identifier: BSD-3-Clause
// u: modes of the velocity; k: wave number vector [1/length]; w = i k x u: modes of the vorticity.
#include "statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "shells.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::turbulence {

namespace {

enum Sum : std::size_t { energy, square_gradient, enstrophy, helicity, num_flow_sums };

double rounded_root(double square) { return square > 0 ? std::sqrt(square) : 0.0; }

}  // namespace

template <class Real>
StatisticsKernel<Real>::StatisticsKernel(const Comm& comm, NavierStokes<Real>& flow)
    : num_shells_(static_cast<std::size_t>(num_shells(flow.options()))),
      num_scalars_(flow.options().scalars.size()),
      sums_(num_flow_sums + 2 * num_scalars_ + num_shells_),
      reduction_(comm, {.max_items = std::ssize(sums_)}, "mpi"),
      derivative_(static_cast<std::size_t>(flow.modes().num_modes())),
      field_(static_cast<std::size_t>(flow.transform().physical_box().num_items())) {
  now_.scalar_variance.resize(num_scalars_);
  now_.scalar_dissipation.resize(num_scalars_);
  now_.spectrum.resize(num_shells_);
  now_.shell_width = unit_wave_number(flow.options());
}

template <class Real>
void StatisticsKernel<Real>::sum_modes(NavierStokes<Real>& flow) {
  const auto kx = flow.kx();
  const auto ky = flow.ky();
  const auto kz = flow.kz();
  const std::complex<Real>* u[3] = {flow.velocity(0).data(), flow.velocity(1).data(),
                                    flow.velocity(2).data()};
  const double per_unit = 1 / now_.shell_width;
  double* shells = sums_.data() + num_flow_sums + 2 * num_scalars_;
  std::size_t at = 0;
  for (const double y : ky) {
    for (const double z : kz) {
      std::array<double, num_flow_sums> row{};
      for (std::size_t i = 0; i < kx.size(); ++i, ++at) {
        const double x = kx[i];
        const double weight = mirror_weight(x == 0 ? 0 : 1);
        const double a = u[0][at].real(), b = u[1][at].real(), c = u[2][at].real();
        const double d = u[0][at].imag(), e = u[1][at].imag(), f = u[2][at].imag();
        const double w[6] = {y * c - z * b, z * a - x * c, x * b - y * a,   // k x Re u
                             y * f - z * e, z * d - x * f, x * e - y * d};  // k x Im u
        const double square = weight * (a * a + b * b + c * c + d * d + e * e + f * f);
        const double k2 = x * x + y * y + z * z;
        row[energy] += square;
        row[square_gradient] += square * k2;
        row[enstrophy] += weight * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3] +
                                    w[4] * w[4] + w[5] * w[5]);
        // Re(conj(u) . i (k x u)) = Im u . (k x Re u) - Re u . (k x Im u)
        row[helicity] += weight * (d * w[0] + e * w[1] + f * w[2] - a * w[3] - b * w[4] - c * w[5]);
        const double real = x * a + y * b + z * c;
        const double imag = x * d + y * e + z * f;
        divergence_max_ = std::max(divergence_max_, real * real + imag * imag);
        shells[fft::shell_of_wave(std::sqrt(k2) * per_unit)] += square;
      }
      for (std::size_t s = 0; s < num_flow_sums; ++s) sums_[s] += row[s];
    }
  }
}

template <class Real>
void StatisticsKernel<Real>::sum_scalars(NavierStokes<Real>& flow) {
  for (std::size_t s = 0; s < num_scalars_; ++s) {
    const auto theta = flow.scalar(static_cast<int>(s));
    double* sums = &sums_[num_flow_sums + 2 * s];
    std::size_t at = 0;
    for (const double y : flow.ky()) {
      for (const double z : flow.kz()) {
        double variance = 0, gradient = 0;
        for (const double x : flow.kx()) {
          const double square =
              mirror_weight(x == 0 ? 0 : 1) * static_cast<double>(std::norm(theta[at++]));
          variance += square;
          gradient += square * (x * x + y * y + z * z);
        }
        sums[0] += variance;
        sums[1] += gradient;
      }
    }
  }
}

template <class Real>
double StatisticsKernel<Real>::mean_skewness(NavierStokes<Real>& flow) {
  double sum = 0;
  for (int c = 0; c < 3; ++c) {
    const auto u = flow.velocity(c);
    std::size_t at = 0;
    for (const double y : flow.ky()) {
      for (const double z : flow.kz()) {
        for (const double x : flow.kx()) {
          const auto k = static_cast<Real>(c == 0 ? x : c == 1 ? y : z);
          derivative_[at] = {-k * u[at].imag(), k * u[at].real()};
          ++at;
        }
      }
    }
    const std::array<const std::complex<Real>*, 1> from{derivative_.data()};
    const std::array<Real*, 1> to{field_.data()};
    flow.transform().backward(from, to);
    std::array<double, 2> moments{};
    for (const Real value : field_) {
      const double square = static_cast<double>(value) * value;
      moments[0] += square;
      moments[1] += square * value;
    }
    reduction_.allreduce(std::span<double>(moments));
    const auto& n = flow.options().extents;
    const double points =
        static_cast<double>(n[0]) * static_cast<double>(n[1]) * static_cast<double>(n[2]);
    const double mean_square = moments[0] / points;
    // Gradients that are zero but for round-off have no skewness.
    const double floor = 1e-20 * sums_[square_gradient];
    if (mean_square > floor) sum += moments[1] / points / std::pow(mean_square, 1.5);
  }
  return sum / 3;
}

template <class Real>
void StatisticsKernel<Real>::derive(NavierStokes<Real>& flow) {
  const auto& options = flow.options();
  const double nu = options.viscosity;
  now_.energy = sums_[energy] / 2;
  now_.enstrophy = sums_[enstrophy] / 2;
  now_.helicity = sums_[helicity];
  // 2 <s_ij s_ij> = <|grad u|^2> where the divergence is zero.
  now_.dissipation = nu * sums_[square_gradient];
  now_.u_rms = rounded_root(2 * now_.energy / 3);
  now_.lambda = rounded_root(15 * now_.u_rms * now_.u_rms / sums_[square_gradient]);
  now_.re_lambda = now_.u_rms * now_.lambda / nu;
  now_.eta = std::pow(nu * nu * nu / now_.dissipation, 0.25);
  now_.kmax_eta = largest_isotropic_wave_number(options) * now_.eta;
  const double* shells = sums_.data() + num_flow_sums + 2 * num_scalars_;
  double over_k = 0;
  for (std::size_t s = 0; s < num_shells_; ++s) {
    now_.spectrum[s] = shells[s] / 2 / now_.shell_width;
    if (s > 0) over_k += shells[s] / 2 / (static_cast<double>(s) * now_.shell_width);
  }
  now_.integral_length = M_PI / (2 * now_.u_rms * now_.u_rms) * over_k;
  for (std::size_t s = 0; s < num_scalars_; ++s) {
    const double diffusivity = nu / options.scalars[s].schmidt;
    now_.scalar_variance[s] = sums_[num_flow_sums + 2 * s];
    now_.scalar_dissipation[s] = 2 * diffusivity * sums_[num_flow_sums + 2 * s + 1];
  }
}

template <class Real>
Statistics& StatisticsKernel<Real>::measure(NavierStokes<Real>& flow) {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  divergence_max_ = 0;
  sum_modes(flow);
  sum_scalars(flow);
  reduction_.allreduce(std::span(sums_));
  divergence_max_ = reduction_.allreduce(divergence_max_, ReduceOp::max);
  now_.step = flow.step_number();
  now_.time = flow.time();
  now_.divergence_max = std::sqrt(divergence_max_);
  derive(flow);
  now_.skewness = mean_skewness(flow);
  return now_;
}

template <class Real>
std::ptrdiff_t StatisticsKernel<Real>::memory_bytes() const {
  return static_cast<std::ptrdiff_t>(derivative_.size() * sizeof(std::complex<Real>) +
                                     field_.size() * sizeof(Real) + sums_.size() * sizeof(double));
}

template class StatisticsKernel<float>;
template class StatisticsKernel<double>;

}  // namespace tailrace::turbulence
