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

/// How the solution from low-precision factors is refined.
enum class Refiner {
  automatic,  ///< classical; GMRES if classical steps do not converge
  classical,  ///< x += M^-1 (b - A x)
  gmres       ///< the correction by GMRES on M^-1 A, M applied with sums in double precision
};

/// Options of a solve; the defaults suit systems with unknown properties.
struct SolveOptions {
  Rung lowest = Rung::bf16x1;  ///< lower rungs are not tried
  Rung highest = Rung::fp64;   ///< below fp64: `Certificate::info` is -1 if no rung succeeds
  Refiner refiner = Refiner::automatic;
  int max_steps = 30;  ///< steps of refinement on a rung, at least 1
  /// 1-norm condition number of similar earlier systems (1 / `Certificate::rcond`), which
  /// determines the first rung; 0: unknown, so bf16x1 is not tried unless `highest` is bf16x1.
  double expected_condition = 0;
  /// If refinement cannot pay off, use fp64 directly: for small systems, for many right-hand sides,
  /// and after a bf16 rung has failed if fp32 may fail, too.
  bool skip_unprofitable = true;
  /// Also estimate rcond and the errors of an fp64 solution: O(n^2) more work.
  bool bounds = true;
};

/// A rung that was tried, and its outcome.
struct Attempt {
  Rung rung = Rung::fp64;
  int steps = 0;        ///< steps of refinement, classical and GMRES's outer ones
  int inner_steps = 0;  ///< steps of GMRES, each one product by A and one by M^-1
  double rcond = 0;     ///< from the factors of this rung; 0 if they broke down
  double seconds = 0;   ///< wall time [s]
  std::string outcome;  ///< "solved", or why not
};

/// Accuracy of a solution. Errors are those of the worst right-hand side.
struct Certificate {
  int info = 0;  ///< as LAPACK's: i > 0: pivot (gesv) or minor (posv) i; -1: see `highest`
  Rung rung = Rung::fp64;                   ///< rung of the solution
  int steps = 0;                            ///< of that rung
  int inner_steps = 0;                      ///< of that rung
  double rcond = 0;                         ///< estimate of 1 / (|A|_1 |A^-1|_1)
  double backward_error = 0;                ///< |b - A x| / (|A| |x| + |b|), infinity norms
  double componentwise_backward_error = 0;  ///< max over i of |b - A x|_i / (|A| |x| + |b|)_i
  double forward_error =
      0;               ///< estimated bound of |x - exact|_1 / |x|_1, rounding of b - A x included
  double seconds = 0;  ///< wall time of the call [s]
  std::vector<Attempt> attempts;  ///< in order; empty if fp64 was used directly
};

/// Whether a rung can run on this processor (and its kernels are in this build). Local.
bool available(Rung rung);
/// "bf16x1", "bf16x2", "fp32" or "fp64".
const char* name(Rung rung);

/// Solves A X = B by a low-precision LU factorisation and refinement, moving to a higher rung when
/// one fails, up to dgesv itself. `a` (n x n, leading dimension `lda`, column-major) is unchanged;
/// `b` (n x nrhs, `ldb`) holds B and then X. With info > 0 (exactly singular) or -1, `b` is
/// unchanged. Systems with NaN or infinities are passed to dgesv. Local, blocking; several threads
/// may call it. Throws std::invalid_argument naming the argument, and std::bad_alloc. Sources:
/// Higham, Accuracy and Stability of Numerical Algorithms, chapter 12; Carson and Higham, SIAM J.
/// Sci. Comput. 40 (2018) A817.
Certificate gesv(std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a, std::ptrdiff_t lda,
                 double* b, std::ptrdiff_t ldb, const SolveOptions& options = {});
/// The same for complex systems, with rungs fp32 (cgetrf) and fp64 (zgesv).
Certificate gesv(std::ptrdiff_t n, std::ptrdiff_t nrhs, const std::complex<double>* a,
                 std::ptrdiff_t lda, std::complex<double>* b, std::ptrdiff_t ldb,
                 const SolveOptions& options = {});

/// The same for symmetric positive definite A, of which one triangle is read: `triangle` is 'L' or
/// 'U'. The rungs are fp32 (spotrf) and fp64 (dposv); bf16 rungs are skipped.
Certificate posv(char triangle, std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a,
                 std::ptrdiff_t lda, double* b, std::ptrdiff_t ldb,
                 const SolveOptions& options = {});
/// The same for Hermitian positive definite A (cpotrf, zposv); only the real part of the diagonal
/// is read.
Certificate posv(char triangle, std::ptrdiff_t n, std::ptrdiff_t nrhs,
                 const std::complex<double>* a, std::ptrdiff_t lda, std::complex<double>* b,
                 std::ptrdiff_t ldb, const SolveOptions& options = {});

/// Minimises |b - A x|_2 for each column of B by a QR factorisation in single precision and
/// refinement of x with b - A x; uses dgels if that fails. `a` (m x n, `lda`, column-major) is
/// unchanged; `b` (`ldb` at least max(m, n)) holds B (m x nrhs) and then X (n x nrhs); as in dgels,
/// the sum of squares of rows n to m is then that of the residual. m < n (the minimum-norm
/// solution) is passed to dgels. With info > 0 (rank-deficient) or -1, `b` is unchanged. The only
/// low rung is fp32. `backward_error` of the certificate bounds the relative change of A (Frobenius
/// norm) for which x is an exact solution; `rcond` is that of R with A's columns scaled (0 after
/// fp64); other errors are 0. Local, blocking. Throws std::invalid_argument that names the
/// argument, and std::bad_alloc. Sources: Bjorck, BIT 7 (1967) 257; Carson, Higham and Pranesh,
/// SIAM J. Sci. Comput. 42 (2020) A4063.
Certificate gels(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a,
                 std::ptrdiff_t lda, double* b, std::ptrdiff_t ldb,
                 const SolveOptions& options = {});
/// The same for complex systems (cgeqrf, zgels).
Certificate gels(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs,
                 const std::complex<double>* a, std::ptrdiff_t lda, std::complex<double>* b,
                 std::ptrdiff_t ldb, const SolveOptions& options = {});

}  // namespace tailrace::dense
