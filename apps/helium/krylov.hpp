// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <vector>

#include "hamiltonian.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace::helium {

/// A Lanczos basis of H and a function: q_0, q_1, ... and the tridiagonal matrix of H in it.
class Krylov {
 public:
  /// For functions of `parts` parts and at most `most` vectors, in memory at once. Local.
  Krylov(Hamiltonian& hamiltonian, int parts, int most);

  /// Begins with `wave`, whose norm (not squared) is `norm`; until the last `extend` nobody else
  /// may set the input of the Hamiltonian. Collective, blocking.
  void begin(const double* wave, double norm);
  /// Adds a vector: one application of H and one sum over the ranks (two where the new vector is
  /// small beside H q). False if the space is exhausted. Collective, blocking.
  bool extend(Coupling coupling, double field);
  int size() const { return static_cast<int>(alpha_.size()); }  ///< columns of the matrix
  double last_beta() const { return beta_.empty() ? 0 : beta_.back(); }

  /// Energies of the matrix, ascending, and the first `size()`-vectors of them as columns. Local.
  struct Ritz {
    std::vector<double> energies, vectors;
  };
  Ritz diagonalise() const;
  /// wave = sum of coefficients c_k q_k; real ones for one part. The basis is lost. Returns the
  /// square of the norm on this rank. Local.
  double combine(const std::vector<std::complex<double>>& coefficients, double* wave);

 private:
  double* vector(int k) const { return basis_.as<double>() + k * stride_; }

  Hamiltonian& hamiltonian_;
  int parts_, most_;
  std::ptrdiff_t length_, stride_;  ///< of a vector, and between them
  Buffer basis_;                    ///< vectors in lines (see `Block`)
  NextInput next_{};                ///< what the next vector is made with
  std::vector<double> alpha_, beta_;
};

struct GroundState {
  Wave wave;  ///< real, of norm 1
  double energy = 0;
  double residual = 0;  ///< |H f - E f|
  int applications = 0;
};

/// The lowest state that the first guess is not orthogonal to, by Lanczos, begun again with the
/// best vector until the residual is below `tolerance`. Throws `Errc::invalid_input` if that takes
/// more than `most` applications of H. Collective, blocking.
GroundState find_ground_state(Hamiltonian& hamiltonian, double tolerance, int most);

struct PropagatorOptions {
  int order = 60;            ///< at most, of the Krylov space
  double tolerance = 1e-12;  ///< of the error that a step adds, relative to the norm
};

/// psi(t + dt) = exp(-i dt H) psi(t), H constant in the step, in Krylov spaces that grow until the
/// error estimate is small enough; where the largest one is not enough, the step is made in parts.
class Propagator {
 public:
  Propagator(Hamiltonian& hamiltonian, const PropagatorOptions& options);

  /// Takes a step of `wave` (two parts) in a constant field. Returns the square of the norm after
  /// it. Collective, blocking.
  double step(Wave& wave, double dt, Coupling coupling, double field);
  /// The square of the norm of the wave of the next step; below 0: unknown, as it must be if the
  /// wave was changed. Local.
  void set_norm(double squared) { norm_squared_ = squared; }

  int last_order() const { return last_order_; }
  double last_error() const { return last_error_; }
  long long applications() const { return applications_; }

 private:
  double advance(double dt, std::vector<std::complex<double>>& coefficients) const;

  Hamiltonian& hamiltonian_;
  PropagatorOptions options_;
  Krylov krylov_;
  double norm_squared_ = -1;
  int last_order_ = 0;
  double last_error_ = 0;
  long long applications_ = 0;
};

}  // namespace tailrace::helium
