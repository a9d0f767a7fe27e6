// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factors.hpp"

namespace tailrace::dense {

/// What 1 / condition of a matrix will be if the pivots of its leading block go on falling: found
/// in less than a hundredth of a factorisation's time. 1 where they do not fall, or say nothing; 0
/// where the block shows that a symmetric matrix is not positive definite in single precision.
/// Few singular values that are tiny are not seen so.
template <class S>
double predicted_rcond(const Matrix<S>& matrix);

}  // namespace tailrace::dense
