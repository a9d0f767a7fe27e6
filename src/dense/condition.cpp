// SPDX-License-Identifier: BSD-3-Clause
// LAPACK's one-norm estimator (dlacn2: Higham, ACM TOMS 14 (1988) 381) on our own triangular
// solves, which read fp32 factors as they are: 4 or 5 solves.
#include <algorithm>
#include <cmath>

#include "dense/factors.hpp"
#include "dense/lapack.hpp"

namespace tailrace::dense {

namespace {

/// The estimator's state between its questions.
struct Estimator {
  std::vector<int> signs;
  std::array<int, 3> state{};
  double estimate = 0;
  int wanted = 0;

  void ask(int n, double* v, double* x) {
    dlacn2_(&n, v, x, signs.data(), &estimate, &wanted, state.data());
  }
  void ask(int n, Complex* v, Complex* x) { zlacn2_(&n, v, x, &estimate, &wanted, state.data()); }
};

}  // namespace

template <class T>
double reciprocal_condition(const Factors<T>& factors, double norm1) {
  const int n = static_cast<int>(factors.n);
  const auto size = static_cast<std::size_t>(n);
  std::vector<Wide<T>> v(size);
  std::vector<Wide<T>> x(size);
  Estimator estimator;
  estimator.signs.resize(size);
  while (true) {
    estimator.ask(n, v.data(), x.data());
    if (estimator.wanted == 0) break;
    if (estimator.wanted == 1) {
      apply_inverse(factors, x.data());
    } else {
      apply_inverse_transposed(factors, x.data());
    }
    for (const auto item : x) {
      if (!is_finite(item)) return 0;  // the estimator must not see it
    }
  }
  const double product = estimator.estimate * factors.scale * norm1;
  if (!(product > 0) || !std::isfinite(product)) return 0;
  return std::min(1.0, 1 / product);
}

template double reciprocal_condition(const Factors<float>& factors, double norm1);
template double reciprocal_condition(const Factors<double>& factors, double norm1);
template double reciprocal_condition(const Factors<std::complex<float>>& factors, double norm1);
template double reciprocal_condition(const Factors<Complex>& factors, double norm1);

}  // namespace tailrace::dense
