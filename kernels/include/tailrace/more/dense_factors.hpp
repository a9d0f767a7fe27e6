// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tailrace/dense.hpp"

// Dense solvers that keep their low-precision factors. Library tailrace::dense. Nothing here is
// collective.
namespace tailrace::dense {

/// Whether `gesv` and `posv` can pay off for systems of this size. Local.
bool gesv_pays(std::ptrdiff_t n, std::ptrdiff_t nrhs);

/// A matrix with low-precision factors, with which further right-hand sides are solved to double
/// precision. S is double or std::complex<double>. Functions are local and blocking; only one
/// thread at a time may call them.
template <class S>
class LowFactors {
 public:
  /// For an n x n matrix, general ('A') or positive definite with triangle 'L' or 'U'. Allocates
  /// memory for a copy; throws std::bad_alloc.
  LowFactors(char triangle, std::ptrdiff_t n);
  ~LowFactors();
  LowFactors(const LowFactors&) = delete;
  LowFactors& operator=(const LowFactors&) = delete;

  /// Like `gesv` or `posv`, but keeps the factors of the rung that gave the solution. The functions
  /// below need them: `options.highest` must be below fp64, and `Certificate::info` 0.
  Certificate solve(const S* a, std::ptrdiff_t lda, std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb,
                    const SolveOptions& options);
  /// Keeps a copy of the matrix, which `a` still holds, and writes the factors over it in the form
  /// of dgesv or dposv. Throws std::bad_alloc, with `a` unchanged.
  void exchange(S* a, std::ptrdiff_t lda);

  // After `exchange`:
  /// Solves for n x nrhs items of `b`. Returns false, with `b` unchanged, if refinement fails.
  /// Throws std::bad_alloc.
  bool solve_again(std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb) const;
  /// An item of the factors as written by `exchange`.
  S item(std::ptrdiff_t i, std::ptrdiff_t j) const;
  /// Pivots as in LAPACK's ipiv, from 1; empty for a positive definite matrix.
  std::span<const int> pivots() const;
  /// The copy of the matrix, with leading dimension n; only the triangle if it is positive
  /// definite.
  const S* matrix() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether `gels` can pay off for least-squares problems of this size. Local.
bool gels_pays(std::ptrdiff_t n, std::ptrdiff_t nrhs);

/// Like `gels` with only its fp32 rung, in place: `a` becomes Q and R in the format of dgels,
/// accurate to single precision. S is double or std::complex<double>; m >= n >= 1. If that rung
/// fails, `Certificate::info` is -1, and `a` and `b` are unchanged. The errors in the certificate
/// are 0. Local, blocking. Throws std::invalid_argument naming the argument, and std::bad_alloc,
/// with `a` and `b` unchanged.
template <class S>
Certificate gels_in_place(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, S* a,
                          std::ptrdiff_t lda, S* b, std::ptrdiff_t ldb);

}  // namespace tailrace::dense
