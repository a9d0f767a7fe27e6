// SPDX-License-Identifier: BSD-3-Clause
// Lanczos: T. J. Park and J. C. Light, J. Chem. Phys. 85, 5870 (1986). The kernel makes
// y = H q_k - beta_k q_(k-1) in the frames that held q_(k-1), and while y passes by <q_k, q_k>,
// <q_k, y> and <y, y>, which are one sum over the ranks. From them alpha = <q_k, y> / <q_k, q_k>
// and beta_(k+1)^2 = <y, y> - alpha <q_k, y>: with 1 in place of <q_k, q_k> an error of the norm
// would grow by alpha^2 / beta^2 a vector. (y - alpha q_k) / beta_(k+1) is made by the next
// application, just ahead of it, only if there is one. So two framed functions are all that the
// caches must hold; both are read and written once a vector, and each vector of the basis is
// written once, past the caches. As y has its neighbours' part when the sum is known, and so has
// q_k, nothing else is waited for.
#include "krylov.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "flush_tiny.hpp"
#include "lapack.hpp"
#include "tailrace/error.hpp"

namespace tailrace::helium {

namespace {

constexpr int guess_vectors = 40;
constexpr int smallest_order = 4;

}  // namespace

Krylov::Krylov(Hamiltonian& hamiltonian, int parts, int most)
    : hamiltonian_(hamiltonian),
      parts_(parts),
      most_(most),
      length_(parts * hamiltonian.blocks().lined_size()),
      stride_((length_ + 7) / 8 * 8 + 8),  // neighbours do not share cache sets
      basis_(stride_ * most * static_cast<std::ptrdiff_t>(sizeof(double))) {}

void Krylov::begin(const double* wave, double norm) {
  alpha_.clear();
  beta_.clear();
  hamiltonian_.set_input(wave, 1 / norm, parts_);
  hamiltonian_.keep_input(parts_, vector(0));
}

bool Krylov::extend(Coupling coupling, double field) {
  const int k = size();
  next_.lines[0] = vector(k);
  next_.lines[1] = parts_ == 2 ? vector(k) + length_ / 2 : nullptr;
  const auto sums =
      hamiltonian_.apply(coupling, field, parts_, last_beta(), k > 0 ? &next_ : nullptr);
  const double alpha = sums.with_input / sums.input;
  double squared = sums.squared - alpha * sums.with_input;
  alpha_.push_back(alpha);
  const bool lost_digits = squared < 0.01 * sums.squared;
  if (lost_digits) squared = hamiltonian_.subtract(alpha, parts_);
  const double beta = std::sqrt(std::max(squared, 0.0));
  beta_.push_back(beta);
  if (beta < 1e-14 * std::max(1.0, std::abs(alpha))) return false;
  next_.alpha = lost_digits ? 0 : alpha;
  next_.scale = 1 / beta;
  return true;
}

Krylov::Ritz Krylov::diagonalise() const {
  const int n = size();
  Ritz ritz{alpha_, std::vector<double>(static_cast<std::size_t>(n * n))};
  auto off = beta_;
  std::vector<double> work(static_cast<std::size_t>(std::max(1, 2 * n - 2)));
  int info = 0;
  dstev_("V", &n, ritz.energies.data(), off.data(), ritz.vectors.data(), &n, work.data(), &info, 1);
  if (info != 0) throw Error(Errc::internal, fmt::format("dstev: info {}", info));
  return ritz;
}

double Krylov::combine(const std::vector<std::complex<double>>& coefficients, double* wave) {
  const auto part = length_ / parts_;
  constexpr std::ptrdiff_t chunk = 1024;
  double* sum = vector(0);
  for (std::ptrdiff_t first = 0; first < part; first += chunk) {
    const auto count = std::min(chunk, part - first);
    double re[chunk] = {}, im[chunk] = {};
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      const double* q = vector(static_cast<int>(k)) + first;
      const double a = coefficients[k].real(), b = coefficients[k].imag();
      if (parts_ == 1) {
#pragma omp simd
        for (std::ptrdiff_t i = 0; i < count; ++i) re[i] += a * q[i];
        continue;
      }
      const double* p = q + part;
#pragma omp simd
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        re[i] += a * q[i] - b * p[i];
        im[i] += a * p[i] + b * q[i];
      }
    }
    std::copy_n(re, count, sum + first);
    if (parts_ == 2) std::copy_n(im, count, sum + part + first);
  }
  double squared = 0;
  for (int p = 0; p < parts_; ++p) {
    double* out = wave + p * hamiltonian_.blocks().packed_size();
    hamiltonian_.blocks().pack(sum + p * part, out);
    squared += hamiltonian_.local_dot(out, out);
  }
  return squared;
}

GroundState find_ground_state(Hamiltonian& hamiltonian, double tolerance, int most) {
  const FlushTiny flush;
  GroundState found{hamiltonian.first_guess(), 0, 0, 0};
  Krylov krylov(hamiltonian, 1, guess_vectors);
  double norm = 1;
  while (found.applications < most) {
    krylov.begin(found.wave.data(), norm);
    while (krylov.size() < guess_vectors && krylov.extend(Coupling::none, 0)) continue;
    found.applications += krylov.size();
    const auto ritz = krylov.diagonalise();
    const auto n = static_cast<std::size_t>(krylov.size());
    std::vector<std::complex<double>> lowest(ritz.vectors.begin(),
                                             ritz.vectors.begin() + static_cast<long>(n));
    double squared = krylov.combine(lowest, found.wave.data());
    hamiltonian.add_up(&squared, 1);
    norm = std::sqrt(squared);
    found.energy = ritz.energies[0];
    found.residual = krylov.last_beta() * std::abs(ritz.vectors[n - 1]);
    if (found.residual > tolerance) continue;
    for (double& value : found.wave) value /= norm;
    return found;
  }
  throw Error(Errc::invalid_input,
              fmt::format("the ground state is not found after {} applications of H: |H f - E f| = "
                          "{:.3g} is above {:.3g}; allow more, or a larger tolerance",
                          found.applications, found.residual, tolerance));
}

Propagator::Propagator(Hamiltonian& hamiltonian, const PropagatorOptions& options)
    : hamiltonian_(hamiltonian), options_(options), krylov_(hamiltonian, 2, options.order) {}

/// Coefficients of exp(-i dt T) e_1, and the estimated error: what the next vector would get.
double Propagator::advance(double dt, std::vector<std::complex<double>>& coefficients) const {
  const auto ritz = krylov_.diagonalise();
  const auto n = static_cast<std::size_t>(krylov_.size());
  coefficients.assign(n, 0);
  for (std::size_t state = 0; state < n; ++state) {
    const double* column = ritz.vectors.data() + state * n;
    const auto turn = column[0] * std::polar(1.0, -dt * ritz.energies[state]);
    for (std::size_t k = 0; k < n; ++k) coefficients[k] += turn * column[k];
  }
  return dt * krylov_.last_beta() * std::abs(coefficients.back());
}

double Propagator::step(Wave& wave, double dt, Coupling coupling, double field) {
  const FlushTiny flush;
  const auto size = hamiltonian_.blocks().packed_size();
  if (norm_squared_ < 0) {
    norm_squared_ = hamiltonian_.local_dot(wave.data(), wave.data()) +
                    hamiltonian_.local_dot(wave.data() + size, wave.data() + size);
    hamiltonian_.add_up(&norm_squared_, 1);
  }
  std::vector<std::complex<double>> coefficients;
  for (double left = dt; left > 1e-14 * dt;) {
    krylov_.begin(wave.data(), std::sqrt(norm_squared_));
    // No coefficient is larger than the product of dt beta_k / k, and not much smaller in the end:
    // while that is far above the tolerance there is nothing to diagonalise.
    double error = 0, part = left, bound = 1;
    bool more = true;
    while (more && krylov_.size() < options_.order) {
      more = krylov_.extend(coupling, field);
      ++applications_;
      bound *= part * krylov_.last_beta() / krylov_.size();
      const bool early = krylov_.size() < smallest_order || bound > 1e3 * options_.tolerance;
      if (early && more && krylov_.size() < options_.order) continue;
      error = advance(part, coefficients);
      more = more && error > options_.tolerance;
    }
    // The largest space is not enough: as much of the step as it allows.
    while (error > options_.tolerance) {
      part *= 0.9;
      error = advance(part, coefficients);
    }
    for (auto& c : coefficients) c *= std::sqrt(norm_squared_);
    norm_squared_ = krylov_.combine(coefficients, wave.data());
    hamiltonian_.add_up(&norm_squared_, 1);
    last_order_ = krylov_.size();
    last_error_ = error;
    left -= part;
  }
  return norm_squared_;
}

}  // namespace tailrace::helium
