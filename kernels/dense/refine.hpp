// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/matrix.hpp"

namespace tailrace::dense {

/// Errors of an answer: the worst of its columns.
struct Errors {
  double normwise = 0;       ///< |r| / (|A| |x| + |b|), infinity norms
  double componentwise = 0;  ///< max |r_i| / (|A| |x| + |b|)_i
};

/// An answer with what is left of b; arrays of n x nrhs.
template <class S>
struct Answer {
  std::vector<S> x, r;
  std::vector<double> w;
  Errors errors;
};

struct Refined {
  bool converged = false;
  int steps = 0;
  int inner_steps = 0;
  const char* why_not = "";
};

/// A system and how to refine its answers.
template <class S>
struct Problem {
  const Matrix<S>& matrix;
  const Norms& norms;
  std::ptrdiff_t nrhs;
  const S* b;
  std::ptrdiff_t ldb;
};

/// The residual and errors of `answer.x`.
template <class S>
void measure(const Problem<S>& problem, Answer<S>& answer);

/// Solves and refines until the normwise backward error is at most 2^-53 and one step more brings
/// neither error down by half; the best answer is kept. Stops after two steps that do not contract.
/// Classical first, unless GMRES alone is asked for; GMRES takes over if it is allowed.
template <class S>
Refined refine(const Problem<S>& problem, const Factors<Low<S>>& factors,
               const SolveOptions& options, double rcond, Answer<S>& answer);

}  // namespace tailrace::dense
