// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Dense systems with a fixed seed, LAPACK's answers to them, and errors measured here.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "dense/lapack.hpp"
#include "tailrace/dense.hpp"

namespace tailrace::dense::test {

using Vector = std::vector<double>;

struct System {
  std::ptrdiff_t n, nrhs, lda;
  Vector a, b;  // lda x n, n x nrhs

  double& at(std::ptrdiff_t i, std::ptrdiff_t j) {
    return a[static_cast<std::size_t>(i + j * lda)];
  }
  double at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return a[static_cast<std::size_t>(i + j * lda)];
  }
};

/// Independent normal items; three more rows in memory than in the matrix.
inline System random_system(std::ptrdiff_t n, std::ptrdiff_t nrhs, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  System s{n, nrhs, n + 3, Vector(static_cast<std::size_t>((n + 3) * n)),
           Vector(static_cast<std::size_t>(n * nrhs))};
  for (double& item : s.a) item = normal(random);
  for (double& item : s.b) item = normal(random);
  return s;
}

/// Singular values from 1 to 1 / condition in geometric steps; symmetric if `definite`.
inline System conditioned_system(std::ptrdiff_t n, double condition, unsigned seed, bool definite) {
  auto s = random_system(n, 1, seed);
  std::fill(s.a.begin(), s.a.end(), 0.0);
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double part =
        static_cast<double>(i) / static_cast<double>(std::max<std::ptrdiff_t>(1, n - 1));
    s.at(i, i) = std::pow(condition, -part);
  }
  for (unsigned k = 0; k < 4; ++k) {
    const auto v = random_system(n, 1, seed + 1000 + k).b;
    double length = 0;
    for (double item : v) length += item * item;
    const auto reflect = [&](bool rows) {
      for (std::ptrdiff_t line = 0; line < n; ++line) {
        const auto item = [&](std::ptrdiff_t i) -> double& {
          return rows ? s.at(i, line) : s.at(line, i);
        };
        double sum = 0;
        for (std::ptrdiff_t i = 0; i < n; ++i) sum += v[static_cast<std::size_t>(i)] * item(i);
        for (std::ptrdiff_t i = 0; i < n; ++i) {
          item(i) -= 2 * sum / length * v[static_cast<std::size_t>(i)];
        }
      }
    };
    if (definite || k % 2 == 0) reflect(true);
    if (definite || k % 2 == 1) reflect(false);
  }
  for (std::ptrdiff_t j = 0; definite && j < n; ++j) {
    for (std::ptrdiff_t i = 0; i < j; ++i) s.at(i, j) = s.at(j, i);
  }
  return s;
}

struct Reference {
  Vector x;
  int info = 0;
};

/// dgesv's answer, or dposv's from that triangle.
inline Reference lapack(const System& s, char triangle = 'A') {
  Reference r{s.b, 0};
  auto a = s.a;
  std::vector<int> pivots(static_cast<std::size_t>(s.n));
  const int n = static_cast<int>(s.n);
  const int lda = static_cast<int>(s.lda);
  const int nrhs = static_cast<int>(s.nrhs);
  if (triangle == 'A') {
    dgesv_(&n, &nrhs, a.data(), &lda, pivots.data(), r.x.data(), &n, &r.info);
  } else {
    dposv_(&triangle, &n, &nrhs, a.data(), &lda, r.x.data(), &n, &r.info, 1);
  }
  return r;
}

struct Errors {
  double normwise = 0;
  double componentwise = 0;
};

/// Backward errors of the worst column, in long double.
inline Errors errors_of(const System& s, const Vector& x) {
  Errors errors;
  long double norm = 0;
  for (std::ptrdiff_t i = 0; i < s.n; ++i) {
    long double row = 0;
    for (std::ptrdiff_t j = 0; j < s.n; ++j) row += std::abs(s.at(i, j));
    norm = std::max(norm, row);
  }
  for (std::ptrdiff_t c = 0; c < s.nrhs; ++c) {
    const double* column = x.data() + c * s.n;
    long double left = 0;
    long double size = 0;
    long double given = 0;
    for (std::ptrdiff_t i = 0; i < s.n; ++i) {
      long double r = s.b[static_cast<std::size_t>(i + c * s.n)];
      long double w = std::abs(r);
      given = std::max(given, w);
      size = std::max(size, std::abs(static_cast<long double>(column[i])));
      for (std::ptrdiff_t j = 0; j < s.n; ++j) {
        const long double p = static_cast<long double>(s.at(i, j)) * column[j];
        r -= p;
        w += std::abs(p);
      }
      left = std::max(left, std::abs(r));
      if (w > 0) {
        errors.componentwise = std::max(errors.componentwise, static_cast<double>(std::abs(r) / w));
      }
    }
    if (left > 0) {
      errors.normwise =
          std::max(errors.normwise, static_cast<double>(left / (norm * size + given)));
    }
  }
  return errors;
}

/// Options that leave one rung, or all, and do not pass over small systems.
inline SolveOptions only(Rung rung) {
  SolveOptions options;
  options.lowest = options.highest = rung;
  options.skip_unprofitable = false;
  return options;
}
inline SolveOptions whole_ladder() {
  SolveOptions options;
  options.skip_unprofitable = false;
  return options;
}

struct Ours {
  Vector x;
  Certificate certificate;
};

inline Ours solve(const System& s, const SolveOptions& options, char triangle = 'A') {
  Ours ours{s.b, {}};
  ours.certificate =
      triangle == 'A' ? gesv(s.n, s.nrhs, s.a.data(), s.lda, ours.x.data(), s.n, options)
                      : posv(triangle, s.n, s.nrhs, s.a.data(), s.lda, ours.x.data(), s.n, options);
  return ours;
}

/// What ours may have where LAPACK has `error`: as much, or four roundings of each item. Refinement
/// ends at 2^-53 by a residual in double precision, whose own rounding the exact one brings back.
inline double allowed(double error) { return std::max(1.05 * error, 0x1p-51); }
/// Of the componentwise error: where a row's sum cancels, more roundings are left.
inline double allowed_componentwise(double error) { return std::max(1.05 * error, 0x1p-50); }

}  // namespace tailrace::dense::test
