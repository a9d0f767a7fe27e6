// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <string>
#include <vector>

// Dense linear systems in double precision, real or complex, factored in lower precision and
// refined. Library tailrace::dense, which needs BLAS and LAPACK and no MPI. Nothing here is
// collective.
namespace tailrace::dense {

/// The factorisations of the ladder, cheapest first (kernels/dense/rungs.cpp is their table).
enum class Rung {
  bf16x1,  ///< fp32 storage, products of one bf16 piece; needs AMX
  bf16x2,  ///< fp32 storage, products of two bf16 pieces (about 16 bits); needs AMX
  fp32,    ///< sgetrf, spotrf
  fp64     ///< the reference: dgesv, dposv
};

/// How the answer of low-precision factors is refined.
enum class Refiner {
  automatic,  ///< classical; GMRES where classical steps do not contract
  classical,  ///< x += M^-1 (b - A x)
  gmres       ///< the correction by GMRES on M^-1 A, M applied with sums in double precision
};

/// What a caller may ask for; the default suits systems of which nothing is known.
struct SolveOptions {
  Rung lowest = Rung::bf16x1;  ///< no rung below is tried
  Rung highest = Rung::fp64;   ///< below fp64: `Certificate::info` is -1 if no rung succeeds
  Refiner refiner = Refiner::automatic;
  int max_steps = 30;  ///< steps of refinement on a rung, at least 1
  /// 1-norm condition number of earlier systems like this one (1 / `Certificate::rcond`), which
  /// decides the first rung; 0: not known, and bf16x1 is not tried unless `highest` is bf16x1.
  double expected_condition = 0;
  /// Small systems, and those with many right-hand sides, go to fp64 at once, and others where a
  /// rung of bf16 has failed and fp32 is not sure to do: refinement cannot pay.
  bool skip_unprofitable = true;
  /// Estimate rcond and the errors of an fp64 answer, too: O(n^2) more work there.
  bool bounds = true;
};

/// A rung that was tried, and how it went.
struct Attempt {
  Rung rung = Rung::fp64;
  int steps = 0;        ///< steps of refinement, classical and GMRES's outer ones
  int inner_steps = 0;  ///< steps of GMRES, each one product by A and one by M^-1
  double rcond = 0;     ///< from the factors of this rung; 0 if they broke down
  double seconds = 0;   ///< wall time [s]
  std::string outcome;  ///< "solved", or why not
};

/// What is known of an answer. Errors are of the worst right-hand side.
struct Certificate {
  int info = 0;  ///< as LAPACK's: i > 0: pivot (gesv) or minor (posv) i; -1: see `highest`
  Rung rung = Rung::fp64;                   ///< that gave the answer
  int steps = 0;                            ///< of that rung
  int inner_steps = 0;                      ///< of that rung
  double rcond = 0;                         ///< estimate of 1 / (|A|_1 |A^-1|_1)
  double backward_error = 0;                ///< |b - A x| / (|A| |x| + |b|), infinity norms
  double componentwise_backward_error = 0;  ///< max over i of |b - A x|_i / (|A| |x| + |b|)_i
  double forward_error =
      0;               ///< estimated bound of |x - exact|_1 / |x|_1, rounding of b - A x included
  double seconds = 0;  ///< wall time of the call [s]
  std::vector<Attempt> attempts;  ///< in order; empty if the system was sent to fp64 at once
};

/// Whether a rung can run on this processor (and its kernels are in this build). Local.
bool available(Rung rung);
/// "bf16x1", "bf16x2", "fp32" or "fp64".
const char* name(Rung rung);

/// Solves A X = B by a low-precision LU factorisation and refinement, climbing from rung to rung on
/// evidence and ending as dgesv does. `a` (n x n, leading dimension `lda`, column-major) is
/// unchanged; `b` (n x nrhs, `ldb`) holds B and then X. With info > 0 (exactly singular) or -1, `b`
/// is unchanged. NaN and infinities go to dgesv. Local, blocking; several threads may call it.
/// Throws std::invalid_argument that names the argument, and std::bad_alloc.
/// Sources: Higham, Accuracy and Stability of Numerical Algorithms, chapter 12; Carson and Higham,
/// SIAM J. Sci. Comput. 40 (2018) A817.
Certificate gesv(std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a, std::ptrdiff_t lda,
                 double* b, std::ptrdiff_t ldb, const SolveOptions& options = {});
/// The same for complex systems, of which the rungs are fp32 (cgetrf) and fp64 (zgesv).
Certificate gesv(std::ptrdiff_t n, std::ptrdiff_t nrhs, const std::complex<double>* a,
                 std::ptrdiff_t lda, std::complex<double>* b, std::ptrdiff_t ldb,
                 const SolveOptions& options = {});

/// The same for symmetric positive definite A, of which one triangle is read: `triangle` is 'L' or
/// 'U'. The rungs are fp32 (spotrf) and fp64 (dposv); those of bf16 are passed over.
Certificate posv(char triangle, std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a,
                 std::ptrdiff_t lda, double* b, std::ptrdiff_t ldb,
                 const SolveOptions& options = {});
/// The same for Hermitian positive definite A (cpotrf, zposv); of the diagonal the real part is
/// read.
Certificate posv(char triangle, std::ptrdiff_t n, std::ptrdiff_t nrhs,
                 const std::complex<double>* a, std::ptrdiff_t lda, std::complex<double>* b,
                 std::ptrdiff_t ldb, const SolveOptions& options = {});

/// Minimises |b - A x|_2 for each column of B by a QR factorisation in single precision and
/// refinement of x with b - A x, ending as dgels does. `a` (m x n, `lda`, column-major) is
/// unchanged; `b` (`ldb` at least max(m, n)) holds B (m x nrhs) and then X (n x nrhs); rows n to m
/// of it then have the residual's sum of squares, as with dgels. m < n (the solution of least norm)
/// goes to dgels. With info > 0 (not of full rank) or -1, `b` is unchanged. The only low rung is
/// fp32. `backward_error` of the certificate is a bound of the size of a change of A, relative to
/// A's in the Frobenius norm, of which x is an exact solution; `rcond` is of R with A's columns
/// scaled (0 after fp64); other errors are 0. Local, blocking. Throws std::invalid_argument that
/// names the argument, and std::bad_alloc.
/// Sources: Bjorck, BIT 7 (1967) 257; Carson, Higham and Pranesh, SIAM J. Sci. Comput. 42 (2020)
/// A4063.
Certificate gels(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a,
                 std::ptrdiff_t lda, double* b, std::ptrdiff_t ldb,
                 const SolveOptions& options = {});
/// The same for complex systems (cgeqrf, zgels).
Certificate gels(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs,
                 const std::complex<double>* a, std::ptrdiff_t lda, std::complex<double>* b,
                 std::ptrdiff_t ldb, const SolveOptions& options = {});

}  // namespace tailrace::dense
