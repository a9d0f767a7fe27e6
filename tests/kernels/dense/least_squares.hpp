// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Least-squares problems with a fixed seed, and errors of solutions in long double.

#include <complex>

#include "dense/scalar.hpp"
#include "dense/systems.hpp"

namespace tailrace::dense::test {

template <class S>
using Items = std::vector<S>;

/// A (lda = m + 3) and B (ldb = m + 2), and the solution of one of the libraries.
template <class S>
struct Problem {
  std::ptrdiff_t m, n, nrhs;
  Items<S> a, b;
  std::ptrdiff_t lda() const { return m + 3; }
  std::ptrdiff_t ldb() const { return std::max(m, n) + 2; }
};

inline double drawn(std::mt19937_64& random, double) {
  return std::normal_distribution<double>()(random);
}
inline Complex drawn(std::mt19937_64& random, Complex) {
  return {drawn(random, 0.0), drawn(random, 0.0)};
}

/// Normal items; columns that fall to 1 / `condition`, and a part of the first in all others; b is
/// A times a vector and `misfit` times normal items.
template <class S>
Problem<S> random_problem(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, double condition,
                          double misfit, unsigned seed) {
  std::mt19937_64 random(seed);
  Problem<S> p{m, n, nrhs, {}, {}};
  p.a.resize(static_cast<std::size_t>(p.lda() * n));
  p.b.resize(static_cast<std::size_t>(p.ldb() * nrhs));
  for (S& item : p.a) item = drawn(random, S());
  const auto at = [&](std::ptrdiff_t i, std::ptrdiff_t j) -> S& {
    return p.a[static_cast<std::size_t>(i + j * p.lda())];
  };
  for (std::ptrdiff_t j = 1; j < n; ++j) {
    // Near the first column, so that scaling of columns alone does not help.
    for (std::ptrdiff_t i = 0; i < m; ++i) at(i, j) = at(i, 0) + at(i, j) / condition;
  }
  for (std::ptrdiff_t c = 0; c < nrhs; ++c) {
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      S sum = misfit * drawn(random, S());
      for (std::ptrdiff_t j = 0; j < n; ++j) sum += at(i, j) / static_cast<double>(1 + j + c);
      p.b[static_cast<std::size_t>(i + c * p.ldb())] = sum;
    }
  }
  return p;
}

/// A change of A of which x is an exact solution, relative to A, and what rounding adds to it in
/// double precision, where b - A x keeps of b's digits only those of a small r; the worst columns.
struct Backward {
  double error = 0, rounding = 0;
};

template <class S>
Backward backward_error(const Problem<S>& p, const Items<S>& x) {
  using Wide = std::complex<long double>;
  const auto wide = [](S item) { return Wide(std::real(item), std::imag(item)); };
  const auto a = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    return wide(p.a[static_cast<std::size_t>(i + j * p.lda())]);
  };
  long double size = 0;
  for (std::ptrdiff_t j = 0; j < p.n; ++j) {
    for (std::ptrdiff_t i = 0; i < p.m; ++i) size += std::norm(a(i, j));
  }
  size = std::sqrt(size);
  Backward worst;
  for (std::ptrdiff_t c = 0; c < p.nrhs; ++c) {
    long double of_b = 0;
    long double of_r = 0;
    long double of_x = 0;
    std::vector<Wide> left(static_cast<std::size_t>(p.n));
    for (std::ptrdiff_t i = 0; i < p.m; ++i) {
      Wide r = wide(p.b[static_cast<std::size_t>(i + c * p.ldb())]);
      of_b += std::norm(r);
      for (std::ptrdiff_t j = 0; j < p.n; ++j) {
        r -= a(i, j) * wide(x[static_cast<std::size_t>(j + c * p.ldb())]);
      }
      of_r += std::norm(r);
      for (std::ptrdiff_t j = 0; j < p.n; ++j) {
        left[static_cast<std::size_t>(j)] += std::conj(a(i, j)) * r;
      }
    }
    long double of_left = 0;
    for (const auto& item : left) of_left += std::norm(item);
    for (std::ptrdiff_t j = 0; j < p.n; ++j) {
      of_x += std::norm(wide(x[static_cast<std::size_t>(j + c * p.ldb())]));
    }
    if (of_r == 0) continue;
    const auto first = static_cast<double>(std::sqrt(of_left / of_r) / size);
    const auto second = static_cast<double>(std::sqrt(of_r / of_x) / size);
    const auto lost = 0x1p-52 * static_cast<double>(std::sqrt(of_b / of_r));
    worst.error = std::max(worst.error, std::min(first, second));
    worst.rounding =
        std::max(worst.rounding, std::min(lost / std::sqrt(static_cast<double>(p.m)), second));
  }
  return worst;
}

}  // namespace tailrace::dense::test
