// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tailrace/dense.hpp"

// Dense solvers that leave factors of low precision. Library tailrace::dense. Nothing here is
// collective.
namespace tailrace::dense {

/// Whether systems of this size gain anything by `gesv` and `posv`. Local.
bool gesv_pays(std::ptrdiff_t n, std::ptrdiff_t nrhs);

/// A matrix with its factors of low precision, by which further right-hand sides are solved to
/// double precision. S is double or std::complex<double>. Functions are local and blocking; one
/// thread at a time may call them.
template <class S>
class LowFactors {
 public:
  /// Of an n x n matrix, general ('A') or definite with the triangle 'L' or 'U'. Takes memory for a
  /// copy of it; throws std::bad_alloc.
  LowFactors(char triangle, std::ptrdiff_t n);
  ~LowFactors();
  LowFactors(const LowFactors&) = delete;
  LowFactors& operator=(const LowFactors&) = delete;

  /// As `gesv` or `posv`, and keeps the factors of the rung that gave the answer. Below, these are
  /// needed: `options.highest` must be below fp64, and `Certificate::info` 0.
  Certificate solve(const S* a, std::ptrdiff_t lda, std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb,
                    const SolveOptions& options);
  /// Keeps a copy of the matrix, which `a` still holds, and writes the factors over it in the form
  /// of dgesv or dposv. Throws std::bad_alloc, with `a` unchanged.
  void exchange(S* a, std::ptrdiff_t lda);

  // After `exchange`:
  /// Solves for n x nrhs items of `b`. False: refinement fails, and `b` is unchanged. Throws
  /// std::bad_alloc.
  bool solve_again(std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb) const;
  /// An item of the factors, as `exchange` has written it.
  S item(std::ptrdiff_t i, std::ptrdiff_t j) const;
  /// As LAPACK's ipiv, from 1; none of a definite matrix.
  std::span<const int> pivots() const;
  /// The copy of the matrix, with leading dimension n; of a definite one that triangle alone.
  const S* matrix() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether least squares of this size gain anything by `gels`. Local.
bool gels_pays(std::ptrdiff_t n, std::ptrdiff_t nrhs);

/// As `gels` with its fp32 rung alone, in place: `a` becomes Q and R in dgels' format, with the
/// digits of single precision. S is double or std::complex<double>; m >= n >= 1. Where that rung
/// does not give an answer, `Certificate::info` is -1, and `a` and `b` are unchanged. The errors of
/// the certificate are 0. Local, blocking. Throws std::invalid_argument that names the argument,
/// and std::bad_alloc, with `a` and `b` unchanged.
template <class S>
Certificate gels_in_place(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, S* a,
                          std::ptrdiff_t lda, S* b, std::ptrdiff_t ldb);

}  // namespace tailrace::dense
