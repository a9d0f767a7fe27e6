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

double norm(const std::vector<double>& v) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < v.size(); ++i) sum += v[i] * v[i];
  return std::sqrt(sum);
}

/// M^-1 A v
std::vector<double> advance(const Gmres& gmres, const std::vector<double>& v) {
  const int n = static_cast<int>(gmres.matrix.n);
  const int lda = static_cast<int>(gmres.matrix.lda);
  const double factor = gmres.factors.scale;
  const double zero = 0;
  const int one = 1;
  std::vector<double> w(v.size());
  if (gmres.matrix.symmetric()) {
    dsymv_(&gmres.matrix.triangle, &n, &factor, gmres.matrix.a, &lda, v.data(), &one, &zero,
           w.data(), &one, 1);
  } else {
    dgemv_("N", &n, &n, &factor, gmres.matrix.a, &lda, v.data(), &one, &zero, w.data(), &one, 1);
  }
  apply_inverse(gmres.factors, w.data());
  return w;
}

/// The least-squares problem of the Hessenberg matrix, rotated to a triangle as it grows.
struct Rotated {
  std::vector<std::vector<double>> columns;
  std::vector<double> cosines, sines, right{0.0};

  /// Takes column k of the Hessenberg matrix, k + 2 items.
  void add(std::vector<double> h) {
    const auto k = columns.size();
    for (std::size_t i = 0; i < k; ++i) {
      const double upper = cosines[i] * h[i] + sines[i] * h[i + 1];
      h[i + 1] = cosines[i] * h[i + 1] - sines[i] * h[i];
      h[i] = upper;
    }
    const double length = std::hypot(h[k], h[k + 1]);
    cosines.push_back(length == 0 ? 1 : h[k] / length);
    sines.push_back(length == 0 ? 0 : h[k + 1] / length);
    h[k] = length;
    right.push_back(-sines[k] * right[k]);
    right[k] *= cosines[k];
    columns.push_back(std::move(h));
  }
  std::vector<double> solve() const {
    std::vector<double> y(columns.size());
    for (auto i = columns.size(); i-- > 0;) {
      double sum = right[i];
      for (auto j = i + 1; j < columns.size(); ++j) sum -= columns[j][i] * y[j];
      y[i] = columns[i][i] == 0 ? 0 : sum / columns[i][i];
    }
    return y;
  }
};

}  // namespace

int correct_by_gmres(const Gmres& gmres, const double* r, double* x) {
  const auto n = static_cast<std::size_t>(gmres.matrix.n);
  std::vector<double> z(r, r + n);
  for (double& item : z) item *= gmres.factors.scale;
  apply_inverse(gmres.factors, z.data());
  const double start = norm(z);
  if (start == 0 || !std::isfinite(start)) return 1;
  std::vector<std::vector<double>> basis;
  Rotated rotated;
  rotated.right[0] = start;
  for (double& item : z) item /= start;
  basis.push_back(std::move(z));
  const int limit = std::min({gmres.max_steps, largest_space, static_cast<int>(n)});
  int steps = 0;
  while (steps < limit) {
    auto w = advance(gmres, basis.back());
    ++steps;
    std::vector<double> h;
    for (const auto& v : basis) {
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t i = 0; i < n; ++i) sum += v[i] * w[i];
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) w[i] -= sum * v[i];
      h.push_back(sum);
    }
    const double length = norm(w);
    if (!std::isfinite(length)) break;
    h.push_back(length);
    rotated.add(std::move(h));
    if (length == 0 || std::abs(rotated.right.back()) <= falls_by * start) break;
    for (double& item : w) item /= length;
    basis.push_back(std::move(w));
  }
  const auto y = rotated.solve();
  for (std::size_t k = 0; k < y.size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) x[i] += y[k] * basis[k][i];
  }
  return steps;
}

}  // namespace tailrace::dense
