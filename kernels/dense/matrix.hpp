// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factors.hpp"

namespace tailrace::dense {

/// Norms of a matrix, all of them infinite or NaN if an item is.
struct Norms {
  double one = 0;
  double infinity = 0;
  double largest = 0;      ///< item
  bool has_zeros = false;  ///< a row or a column of nothing else: singular
};
template <class S>
Norms norms_of(const Matrix<S>& matrix);

/// An unfactored copy in fp32, scaled by a power of two to a largest item of about 1. Of a
/// symmetric matrix the lower triangle is filled.
template <class S>
Factors<Low<S>> low_copy(const Matrix<S>& matrix, double largest);

/// Norms and a copy, of a general matrix in one pass, so its largest item may be off 1 by 2^20.
/// Without values where a norm is not finite, or the matrix has a row or a column of zeros.
template <class S>
Factors<Low<S>> low_copy_with_norms(const Matrix<S>& matrix, Norms& norms);

/// An unfactored copy as it is, of a symmetric matrix only its triangle, and norms unless null.
template <class S>
Factors<S> copy_with_norms(const Matrix<S>& matrix, Norms* norms);

/// What is left of b after a x for all columns: `r` = b - a x, `w` = |a| |x| + |b|, all n x nrhs.
/// `b` has leading dimension `ldb`, the others n.
template <class S>
struct Residual {
  const Matrix<S>& matrix;
  std::ptrdiff_t nrhs;
  const S* b;
  std::ptrdiff_t ldb;
  const S* x;
  S* r;
  double* w;
};
template <class S>
void compute(const Residual<S>& residual);

}  // namespace tailrace::dense
