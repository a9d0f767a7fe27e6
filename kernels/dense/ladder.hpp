// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factors.hpp"

namespace tailrace::dense {

/// Whether a system of this size can gain anything by refinement.
bool pays(std::ptrdiff_t n, std::ptrdiff_t nrhs);

/// What `gesv` and `posv` do once their arguments are checked. `kept`, if not null, takes the
/// factors of the low rung that gave the answer, and is left as it is after fp64.
template <class S>
Certificate climb(const Matrix<S>& matrix, std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb,
                  const SolveOptions& options, Factors<Low<S>>* kept);

}  // namespace tailrace::dense
