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
struct Answer {
  std::vector<double> x, r, w;
  Errors errors;
};

struct Refined {
  bool converged = false;
  int steps = 0;
  int inner_steps = 0;
  const char* why_not = "";
};

/// A system and how to refine its answers.
struct Problem {
  const Matrix& matrix;
  const Norms& norms;
  std::ptrdiff_t nrhs;
  const double* b;
  std::ptrdiff_t ldb;
};

/// The residual and errors of `answer.x`.
void measure(const Problem& problem, Answer& answer);

/// Solves and refines until the normwise backward error is at most 2^-53 and one step more brings
/// neither error down by half; the best answer is kept. Stops after two steps that do not contract.
/// Classical first, unless GMRES alone is asked for; GMRES takes over if it is allowed.
Refined refine(const Problem& problem, const Factors<float>& factors, const SolveOptions& options,
               double rcond, Answer& answer);

}  // namespace tailrace::dense
