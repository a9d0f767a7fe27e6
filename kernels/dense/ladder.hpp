// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factors.hpp"

namespace tailrace::dense {

/// `gesv` of a general matrix, else `posv`, climbing from rung to rung. `kept`, if not null, takes
/// the factors of the low rung that gave the answer, and is left as it is after fp64.
template <class S>
Certificate solve(const Matrix<S>& matrix, std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb,
                  const SolveOptions& options, Factors<Low<S>>* kept);

}  // namespace tailrace::dense
