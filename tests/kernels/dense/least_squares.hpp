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
/// double precision, where b - A x has errors of the unit times |b| + |A| |x|; the worst columns.
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
    const auto lost =
        0x1p-52 * static_cast<double>((std::sqrt(of_b) + size * std::sqrt(of_x)) / std::sqrt(of_r));
    worst.error = std::max(worst.error, std::min(first, second));
    worst.rounding =
        std::max(worst.rounding, std::min(lost / std::sqrt(static_cast<double>(p.m)), second));
  }
  return worst;
}

/// conj(a) b, without the care for infinity that `operator*` takes, which is slow.
inline std::complex<long double> times(const std::complex<long double>& a,
                                       const std::complex<long double>& b) {
  return {a.real() * b.real() + a.imag() * b.imag(), a.real() * b.imag() - a.imag() * b.real()};
}

/// v^H K^-1 v by Cholesky's factorisation of K, n by n, of which the lower triangle is given.
inline long double square_of_inverse(std::vector<std::complex<long double>> k,
                                     std::vector<std::complex<long double>> v) {
  const std::size_t n = v.size();
  long double square = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const long double pivot = std::sqrt(std::real(k[j + j * n]));
    for (std::size_t i = j; i < n; ++i) k[i + j * n] /= pivot;
    v[j] /= pivot;
    square += std::norm(v[j]);
    for (std::size_t c = j + 1; c < n; ++c) {
      for (std::size_t i = c; i < n; ++i) k[i + c * n] -= times(k[c + j * n], k[i + j * n]);
      v[c] -= times(std::conj(k[c + j * n]), v[j]);
    }
  }
  return square;
}

/// The smallest change of A, relative to A, of which x is an exact solution, within a factor of
/// 1.7; the worst column: the estimate of Karlson and Walden (BIT 37 (1997) 862),
/// |(|x|^2 A^H A + |r|^2 I)^(-1/2) A^H r|. `backward_error`, which is Stewart's and what solvers
/// estimate, may be larger by |A| |x| / |r|. Of square A it is the error of A x = b.
template <class S>
double optimal_backward_error(const Problem<S>& p, const Items<S>& x) {
  using Wide = std::complex<long double>;
  const auto wide = [](S item) { return Wide(std::real(item), std::imag(item)); };
  const auto rows = static_cast<std::size_t>(p.m), n = static_cast<std::size_t>(p.n);
  std::vector<Wide> a(rows * n);
  long double of_a = 0;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      a[i + j * rows] = wide(p.a[i + j * static_cast<std::size_t>(p.lda())]);
      of_a += std::norm(a[i + j * rows]);
    }
  }
  const auto product = [&](std::size_t j, const Wide* column) {  // row j of A^H times it
    Wide sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += times(a[i + j * rows], column[i]);
    return sum;
  };
  std::vector<Wide> normal(n * n);
  for (std::size_t j = 0; rows > n && j < n; ++j) {
    for (std::size_t k = j; k < n; ++k) normal[k + j * n] = product(k, &a[j * rows]);
  }
  double worst = 0;
  for (std::ptrdiff_t c = 0; c < p.nrhs; ++c) {
    const auto at = static_cast<std::size_t>(c * p.ldb());
    std::vector<Wide> r(rows), left(n);
    long double of_b = 0, of_r = 0, of_x = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      r[i] = wide(p.b[at + i]);
      of_b += std::norm(r[i]);
      for (std::size_t j = 0; j < n; ++j)
        r[i] -= times(std::conj(a[i + j * rows]), wide(x[at + j]));
      of_r += std::norm(r[i]);
    }
    for (std::size_t j = 0; j < n; ++j) of_x += std::norm(wide(x[at + j]));
    if (of_r == 0) continue;
    long double error = std::sqrt(of_r) / (std::sqrt(of_a * of_x) + std::sqrt(of_b));
    if (rows > n) {
      auto k = normal;
      for (auto& item : k) item *= of_x;
      for (std::size_t j = 0; j < n; ++j) {
        left[j] = product(j, r.data());
        k[j * (n + 1)] += of_r;
      }
      error = std::sqrt(square_of_inverse(std::move(k), std::move(left)) / of_a);
    }
    worst = std::max(worst, static_cast<double>(error));
  }
  return worst;
}

}  // namespace tailrace::dense::test
