// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factors.hpp"

namespace tailrace::dense {

/// Whether LU and Cholesky of our own are to be used for n rows: on one thread, on a processor for
/// which there are kernels, and while some columns of them stay in a second-level cache of 1 MiB.
template <class T>
bool own_factors_pay(std::ptrdiff_t n);

/// LU with row swaps, or Cholesky of the lower triangle, as LAPACK's but for rounding. False: a
/// pivot is zero or not finite, or the matrix is not positive definite; LAPACK says which.
template <class T>
bool factor_own(Factors<T>& factors);

/// Pivots from 0 become LAPACK's, and the columns of each panel get the row swaps of all later
/// panels, at once.
template <class T>
void finish_pivots(Factors<T>& factors, std::ptrdiff_t panel);

}  // namespace tailrace::dense
