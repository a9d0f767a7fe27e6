// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Complex systems with a fixed seed, and errors measured here.

#include <complex>

#include "dense/systems.hpp"

namespace tailrace::dense::test {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;

struct ComplexSystem {
  std::ptrdiff_t n, nrhs, lda;
  Numbers a, b;

  Number& at(std::ptrdiff_t i, std::ptrdiff_t j) {
    return a[static_cast<std::size_t>(i + j * lda)];
  }
  Number at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return a[static_cast<std::size_t>(i + j * lda)];
  }
};

inline ComplexSystem random_complex(std::ptrdiff_t n, std::ptrdiff_t nrhs, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  ComplexSystem s{n, nrhs, n + 2, Numbers(static_cast<std::size_t>((n + 2) * n)),
                  Numbers(static_cast<std::size_t>(n * nrhs))};
  const auto draw = [&] {
    const double real = normal(random);
    return Number(real, normal(random));
  };
  for (auto& item : s.a) item = draw();
  for (auto& item : s.b) item = draw();
  return s;
}

/// Singular values from 1 to 1 / condition between reflections by complex vectors; Hermitian if
/// `definite`.
inline ComplexSystem conditioned_complex(std::ptrdiff_t n, double condition, unsigned seed,
                                         bool definite) {
  auto s = random_complex(n, 1, seed);
  std::fill(s.a.begin(), s.a.end(), Number(0));
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    s.at(i, i) = std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1));
  }
  for (unsigned k = 0; k < 4; ++k) {
    const auto v = random_complex(n, 1, seed + 100 + k).b;
    double length = 0;
    for (auto item : v) length += std::norm(item);
    for (std::ptrdiff_t line = 0; line < n && (definite || k % 2 == 0); ++line) {
      Number sum = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        sum += std::conj(v[static_cast<std::size_t>(i)]) * s.at(i, line);
      }
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        s.at(i, line) -= 2 / length * sum * v[static_cast<std::size_t>(i)];
      }
    }
    for (std::ptrdiff_t line = 0; line < n && (definite || k % 2 == 1); ++line) {
      Number sum = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) sum += s.at(line, i) * v[static_cast<std::size_t>(i)];
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        s.at(line, i) -= 2 / length * sum * std::conj(v[static_cast<std::size_t>(i)]);
      }
    }
  }
  for (std::ptrdiff_t j = 0; definite && j < n; ++j) {
    s.at(j, j) = s.at(j, j).real();
    for (std::ptrdiff_t i = 0; i < j; ++i) s.at(i, j) = std::conj(s.at(j, i));
  }
  return s;
}

/// Backward errors of the worst column, in long double; |re| + |im| in the componentwise one.
inline Errors errors_of(const ComplexSystem& s, const Numbers& x) {
  using Long = std::complex<long double>;
  const auto size = [](Long z) { return std::abs(z.real()) + std::abs(z.imag()); };
  Errors errors;
  long double norm = 0;
  for (std::ptrdiff_t i = 0; i < s.n; ++i) {
    long double row = 0;
    for (std::ptrdiff_t j = 0; j < s.n; ++j) row += std::abs(Long(s.at(i, j)));
    norm = std::max(norm, row);
  }
  for (std::ptrdiff_t c = 0; c < s.nrhs; ++c) {
    long double left = 0;
    long double largest = 0;
    long double given = 0;
    for (std::ptrdiff_t i = 0; i < s.n; ++i) {
      Long r = s.b[static_cast<std::size_t>(i + c * s.n)];
      given = std::max(given, std::abs(r));
      long double w = size(r);
      largest = std::max(largest, std::abs(Long(x[static_cast<std::size_t>(i + c * s.n)])));
      for (std::ptrdiff_t j = 0; j < s.n; ++j) {
        const Long item(s.at(i, j));
        const Long other(x[static_cast<std::size_t>(j + c * s.n)]);
        r -= item * other;
        w += size(item) * size(other);
      }
      left = std::max(left, std::abs(r));
      errors.componentwise = std::max(errors.componentwise, static_cast<double>(size(r) / w));
    }
    errors.normwise =
        std::max(errors.normwise, static_cast<double>(left / (norm * largest + given)));
  }
  return errors;
}

}  // namespace tailrace::dense::test
