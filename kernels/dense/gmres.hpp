// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factors.hpp"

namespace tailrace::dense {

/// GMRES on (scale A)^-1 A with factors of low precision, whose sums are in double precision.
template <class S>
struct Gmres {
  const Matrix<S>& matrix;
  const Factors<Low<S>>& factors;
  int max_steps;  ///< at most; the Krylov space has at most 60
};

/// Adds the solution of A d = r to `x`, until the preconditioned residual has fallen by 1e-8 or the
/// steps are used up. Returns the steps that it took. `r` and `x` have n items.
template <class S>
int correct_by_gmres(const Gmres<S>& gmres, const S* r, S* x);

}  // namespace tailrace::dense
