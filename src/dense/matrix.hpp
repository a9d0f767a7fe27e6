// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factors.hpp"

namespace tailrace::dense {

/// Norms of a matrix, all of them infinite or NaN if an item is.
struct Norms {
  double one = 0;
  double infinity = 0;
  double largest = 0;  ///< item
};
Norms norms_of(const Matrix& matrix);

/// An unfactored copy in fp32, scaled by a power of two to a largest item of about 1. Of a
/// symmetric matrix the lower triangle is filled.
Factors<float> low_copy(const Matrix& matrix, double largest);

/// What is left of b after a x for all columns: `r` = b - a x, `w` = |a| |x| + |b|, all n x nrhs.
/// `b` has leading dimension `ldb`, the others n.
struct Residual {
  const Matrix& matrix;
  std::ptrdiff_t nrhs;
  const double* b;
  std::ptrdiff_t ldb;
  const double* x;
  double* r;
  double* w;
};
void compute(const Residual& residual);

}  // namespace tailrace::dense
