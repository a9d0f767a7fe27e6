// SPDX-License-Identifier: BSD-3-Clause
// GMRES (Saad and Schultz 1986) by modified Gram-Schmidt and Givens rotations, left-preconditioned.
#include "dense/gmres.hpp"

#include <algorithm>
#include <cmath>

#include "dense/lapack.hpp"

namespace tailrace::dense {

namespace {

constexpr double falls_by = 1e-8;
constexpr int largest_space = 60;

template <class S>
double norm(const std::vector<S>& v) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < v.size(); ++i) sum += square(v[i]);
  return std::sqrt(sum);
}

/// M^-1 A v
template <class S>
std::vector<S> advance(const Gmres<S>& gmres, const std::vector<S>& v) {
  const int n = static_cast<int>(gmres.matrix.n);
  const int lda = static_cast<int>(gmres.matrix.lda);
  const S factor = gmres.factors.scale;
  const S zero = 0;
  const int one = 1;
  std::vector<S> w(v.size());
  if (gmres.matrix.symmetric()) {
    Lapack<S>::hemv(&gmres.matrix.triangle, &n, &factor, gmres.matrix.a, &lda, v.data(), &one,
                    &zero, w.data(), &one, 1);
  } else {
    Lapack<S>::gemv("N", &n, &n, &factor, gmres.matrix.a, &lda, v.data(), &one, &zero, w.data(),
                    &one, 1);
  }
  apply_inverse(gmres.factors, w.data());
  return w;
}

/// The least-squares problem of the Hessenberg matrix, rotated to a triangle as it grows. Sines
/// are real.
template <class S>
struct Rotated {
  std::vector<std::vector<S>> columns;
  std::vector<S> cosines, right{0.0};
  std::vector<double> sines;

  /// Takes column k of the Hessenberg matrix, k + 2 items.
  void add(std::vector<S> h) {
    const auto k = columns.size();
    for (std::size_t i = 0; i < k; ++i) {
      const S upper = product(conjugate(cosines[i]), h[i]) + sines[i] * h[i + 1];
      h[i + 1] = product(cosines[i], h[i + 1]) - sines[i] * h[i];
      h[i] = upper;
    }
    const double length = std::hypot(modulus(h[k]), modulus(h[k + 1]));
    cosines.push_back(length == 0 ? S(1) : h[k] / length);
    sines.push_back(length == 0 ? 0 : modulus(h[k + 1]) / length);
    h[k] = length;
    right.push_back(-sines[k] * right[k]);
    right[k] = product(conjugate(cosines[k]), right[k]);
    columns.push_back(std::move(h));
  }
  std::vector<S> solve() const {
    std::vector<S> y(columns.size());
    for (auto i = columns.size(); i-- > 0;) {
      S sum = right[i];
      for (auto j = i + 1; j < columns.size(); ++j) sum -= product(columns[j][i], y[j]);
      y[i] = columns[i][i] == S(0) ? S(0) : sum / columns[i][i];
    }
    return y;
  }
};

/// The scalar product of v, conjugated, and w.
double scalar_product(const std::vector<double>& v, const std::vector<double>& w) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < v.size(); ++i) sum += v[i] * w[i];
  return sum;
}
Complex scalar_product(const std::vector<Complex>& v, const std::vector<Complex>& w) {
  Complex sum = 0;
  for (std::size_t i = 0; i < v.size(); ++i) sum += product(conjugate(v[i]), w[i]);
  return sum;
}

}  // namespace

template <class S>
int correct_by_gmres(const Gmres<S>& gmres, const S* r, S* x) {
  const auto n = static_cast<std::size_t>(gmres.matrix.n);
  std::vector<S> z(r, r + n);
  for (S& item : z) item *= gmres.factors.scale;
  apply_inverse(gmres.factors, z.data());
  const double start = norm(z);
  if (start == 0 || !std::isfinite(start)) return 1;
  std::vector<std::vector<S>> basis;
  Rotated<S> rotated;
  rotated.right[0] = start;
  for (S& item : z) item /= start;
  basis.push_back(std::move(z));
  const int limit = std::min({gmres.max_steps, largest_space, static_cast<int>(n)});
  int steps = 0;
  while (steps < limit) {
    auto w = advance(gmres, basis.back());
    ++steps;
    std::vector<S> h;
    for (const auto& v : basis) {
      const S sum = scalar_product(v, w);
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) w[i] -= product(sum, v[i]);
      h.push_back(sum);
    }
    const double length = norm(w);
    if (!std::isfinite(length)) break;
    h.push_back(length);
    rotated.add(std::move(h));
    if (length == 0 || modulus(rotated.right.back()) <= falls_by * start) break;
    for (S& item : w) item /= length;
    basis.push_back(std::move(w));
  }
  const auto y = rotated.solve();
  for (std::size_t k = 0; k < y.size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) x[i] += product(y[k], basis[k][i]);
  }
  return steps;
}

template int correct_by_gmres(const Gmres<double>& gmres, const double* r, double* x);
template int correct_by_gmres(const Gmres<Complex>& gmres, const Complex* r, Complex* x);

}  // namespace tailrace::dense
