// SPDX-License-Identifier: BSD-3-Clause
// The block one-norm estimator of Higham and Tisseur (SIAM J. Matrix Anal. Appl. 21 (2000) 1185)
// with two columns and one iteration: three solves with two right-hand sides, which read the
// factors three times. LAPACK's dlacn2 reads them four or five times, for fewer columns in all.
// Where a solution is known one solve will do: |A^-1|_1 is at least the largest item of A^-H s, for
// s of items of size 1, which is what the third solve would start from, and is near it where few
// singular values are small.
#include <algorithm>
#include <cmath>

#include "dense/factors.hpp"

namespace tailrace::dense {

namespace {

inline double sign_of(double x) { return x < 0 ? -1 : 1; }
inline Complex sign_of(Complex x) {
  const double size = modulus(x);
  return size > 0 ? x / size : Complex(1);
}

template <class S>
bool all_finite(const std::vector<S>& x) {
  return std::all_of(x.begin(), x.end(), [](S item) { return is_finite(item); });
}

/// The larger sum of sizes of two columns of n items.
template <class S>
double one_norm(const std::vector<S>& x, std::size_t n) {
  double first = 0;
  double second = 0;
  for (std::size_t i = 0; i < n; ++i) {
    first += modulus(x[i]);
    second += modulus(x[n + i]);
  }
  return std::max(first, second);
}

/// Where |A^-T| times signs is largest: two columns of the identity, as two columns.
template <class S>
void take_largest_rows(std::vector<S>& x, std::size_t n) {
  const auto size = [&](std::size_t i) { return std::max(modulus(x[i]), modulus(x[n + i])); };
  std::size_t first = 0;
  for (std::size_t i = 1; i < n; ++i) {
    if (size(i) > size(first)) first = i;
  }
  std::size_t second = first == 0 ? n - 1 : 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i != first && size(i) > size(second)) second = i;
  }
  std::fill(x.begin(), x.end(), S(0));
  x[first] = x[n + second] = 1;
}

}  // namespace

template <class T>
double reciprocal_condition(const Factors<T>& factors, double norm1,
                            const Solution<Wide<T>>& known) {
  using S = Wide<T>;
  const auto n = static_cast<std::size_t>(factors.n);
  // Both starts have a one-norm of 1; that of alternating signs is dlacn2's against cancellation.
  std::vector<S> x(2 * n);
  double total = 0;
  double given = 0;  // |b|
  for (std::size_t i = 0; i < n; ++i) {
    const double size = 1 + static_cast<double>(i) / static_cast<double>(n);
    x[i] = 1 / static_cast<double>(n);
    x[n + i] = i % 2 == 0 ? size : -size;
    total += size;
    if (known.b != nullptr) given += modulus(known.b[i]);
  }
  double estimate = 0;
  if (given > 0) {
    std::copy_n(known.x, n, x.begin());
    for (std::size_t i = 0; i < n; ++i) estimate += modulus(x[i]) / given;
  } else {
    for (std::size_t i = n; i < 2 * n; ++i) x[i] /= total;
    apply_inverse(factors, x.data(), 2);
    estimate = one_norm(x, n);
  }
  if (!all_finite(x)) return 0;
  std::transform(x.begin(), x.end(), x.begin(), [](S item) { return sign_of(item); });
  apply_inverse_transposed(factors, x.data(), 2);
  if (!all_finite(x)) return 0;
  for (const S& item : x) estimate = std::max(estimate, modulus(item));
  if (given == 0) {
    take_largest_rows(x, n);
    apply_inverse(factors, x.data(), 2);
    if (!all_finite(x)) return 0;
    estimate = std::max(estimate, one_norm(x, n));
  }
  const double product = estimate * factors.scale * norm1;
  if (!(product > 0) || !std::isfinite(product)) return 0;
  return std::min(1.0, 1 / product);
}

template double reciprocal_condition(const Factors<float>& factors, double norm1,
                                     const Solution<double>& known);
template double reciprocal_condition(const Factors<double>& factors, double norm1,
                                     const Solution<double>& known);
template double reciprocal_condition(const Factors<std::complex<float>>& factors, double norm1,
                                     const Solution<Complex>& known);
template double reciprocal_condition(const Factors<Complex>& factors, double norm1,
                                     const Solution<Complex>& known);

}  // namespace tailrace::dense
