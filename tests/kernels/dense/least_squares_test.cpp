// SPDX-License-Identifier: BSD-3-Clause
// Least squares beside dgels: errors in long double, info, and what is refused.
#include <complex>
#include <stdexcept>

#include <gtest/gtest.h>

#include "dense/scalar.hpp"
#include "dense/systems.hpp"

namespace tailrace::dense::test {
namespace {

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

double drawn(std::mt19937_64& random, double) { return std::normal_distribution<double>()(random); }
Complex drawn(std::mt19937_64& random, Complex) { return {drawn(random, 0.0), drawn(random, 0.0)}; }

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

template <class S>
int reference(const Problem<S>& p, Items<S>& x) {
  auto a = p.a;
  x = p.b;
  const int m = static_cast<int>(p.m);
  const int n = static_cast<int>(p.n);
  const int nrhs = static_cast<int>(p.nrhs);
  const int lda = static_cast<int>(p.lda());
  const int ldb = static_cast<int>(p.ldb());
  const int length = 100000;
  Items<S> work(static_cast<std::size_t>(length));
  int info = 0;
  Lapack<S>::gels("N", &m, &n, &nrhs, a.data(), &lda, x.data(), &ldb, work.data(), &length, &info,
                  1);
  return info;
}

template <class S>
Certificate ours(const Problem<S>& p, Items<S>& x, const SolveOptions& options = whole_ladder()) {
  x = p.b;
  return gels(p.m, p.n, p.nrhs, p.a.data(), p.lda(), x.data(), p.ldb(), options);
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

template <class S>
void expect_as_good(double condition, double misfit, bool low) {
  for (const auto& [m, n, nrhs] : {std::array<std::ptrdiff_t, 3>{1, 1, 1},
                                   {9, 7, 2},
                                   {40, 40, 1},
                                   {200, 31, 3},
                                   {150, 120, 1}}) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + ", condition " +
                 std::to_string(condition) + ", misfit 1e" + std::to_string(std::log10(misfit)));
    const auto p = random_problem<S>(m, n, nrhs, condition, misfit, 7);
    Items<S> x;
    Items<S> y;
    const auto certificate = ours(p, x);
    ASSERT_EQ(certificate.info, 0);
    ASSERT_EQ(reference(p, y), 0);
    if (low && n > 1) {
      EXPECT_EQ(certificate.rung, Rung::fp32) << certificate.attempts[0].outcome;
    }
    const double theirs = backward_error(p, y).error;
    const auto [mine, rounding] = backward_error(p, x);
    EXPECT_LE(mine, std::max(1.5 * theirs, 0x1p-50));
    EXPECT_NEAR(certificate.backward_error, mine, 0.5 * mine + rounding + 1e-13);
    // Below X: the residual, in squares.
    for (std::ptrdiff_t c = 0; c < nrhs; ++c) {
      double squares = 0;
      double given = 0;
      for (std::ptrdiff_t i = n; i < m; ++i) {
        squares += std::norm(x[static_cast<std::size_t>(i + c * p.ldb())]);
        given += std::norm(y[static_cast<std::size_t>(i + c * p.ldb())]);
      }
      EXPECT_NEAR(std::sqrt(squares), std::sqrt(given), 1e-9 * (1 + std::sqrt(given)));
    }
  }
}

TEST(LeastSquares, AsGoodAsDgels) {
  for (const double misfit : {0.0, 1e-8, 1.0}) {
    for (const double condition : {1.0, 1e2, 1e3}) {
      expect_as_good<double>(condition, misfit, true);
      expect_as_good<Complex>(condition, misfit, true);
    }
    expect_as_good<double>(1e10, misfit, false);
    expect_as_good<Complex>(1e10, misfit, false);
  }
}

TEST(LeastSquares, ColumnsOfAnySize) {
  auto p = random_problem<double>(60, 20, 1, 1, 0.5, 9);
  for (std::ptrdiff_t j = 0; j < 20; ++j) {
    for (std::ptrdiff_t i = 0; i < 60; ++i) {
      p.a[static_cast<std::size_t>(i + j * p.lda())] *=
          std::pow(10.0, 10.0 * static_cast<double>(j % 13 - 6));
    }
  }
  Items<double> x;
  Items<double> y;
  EXPECT_EQ(ours(p, x).rung, Rung::fp32);
  ASSERT_EQ(reference(p, y), 0);
  for (std::size_t j = 0; j < 20; ++j) EXPECT_NEAR(x[j], y[j], 1e-9 * std::abs(y[j]));
}

TEST(LeastSquares, RankAndBadNumbersAreLapacks) {
  auto p = random_problem<double>(30, 10, 2, 1, 0.5, 9);
  Items<double> x;
  Items<double> y;
  for (std::ptrdiff_t i = 0; i < 30; ++i) p.a[static_cast<std::size_t>(i + 4 * p.lda())] = 0;
  EXPECT_EQ(ours(p, x).info, reference(p, y));
  EXPECT_GT(reference(p, y), 0);
  EXPECT_EQ(x, p.b);
  auto lost = random_problem<double>(30, 10, 1, 1, 0.5, 9);
  lost.a[5] = std::nan("");
  EXPECT_EQ(ours(lost, x).rung, Rung::fp64);
  EXPECT_TRUE(std::isnan(x[0]));
  lost.a[5] = 1;
  lost.b[3] = HUGE_VAL;
  EXPECT_EQ(ours(lost, x).rung, Rung::fp64);
  const auto only_low = ours(random_problem<double>(30, 10, 1, 1e12, 0.5, 9), x, only(Rung::fp32));
  EXPECT_EQ(only_low.info, -1);
  // Fewer rows than columns: the solution of least norm.
  const auto wide = random_problem<double>(10, 30, 2, 1, 0, 9);
  EXPECT_EQ(ours(wide, x).rung, Rung::fp64);
  ASSERT_EQ(reference(wide, y), 0);
  for (std::size_t j = 0; j < 30; ++j) EXPECT_NEAR(x[j], y[j], 1e-12);
}

TEST(LeastSquares, ArgumentsAreNamed) {
  Vector a(20, 1.0);
  Vector b(5, 1.0);
  const auto refused = [&](std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs,
                           std::ptrdiff_t lda, std::ptrdiff_t ldb) {
    try {
      gels(m, n, nrhs, a.data(), lda, b.data(), ldb);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  EXPECT_EQ(refused(-1, 4, 1, 5, 5), "dense::gels: m is -1, expected 0 to 2^31 - 1");
  EXPECT_EQ(refused(5, -4, 1, 5, 5), "dense::gels: n is -4, expected 0 to 2^31 - 1");
  EXPECT_EQ(refused(5, 4, -1, 5, 5), "dense::gels: nrhs is -1, expected 0 to 2^31 - 1");
  EXPECT_EQ(refused(5, 4, 1, 4, 5), "dense::gels: lda is 4, expected 5 to 2^31 - 1");
  EXPECT_EQ(refused(4, 5, 1, 4, 4), "dense::gels: ldb is 4, expected 5 to 2^31 - 1");
  double* const nothing = nullptr;
  EXPECT_THROW(gels(5, 4, 1, nothing, 5, b.data(), 5), std::invalid_argument);
  EXPECT_EQ(gels(0, 0, 1, nothing, 1, b.data(), 1).info, 0);
  EXPECT_EQ(gels(5, 4, 0, a.data(), 5, nothing, 5).info, 0);
}

}  // namespace
}  // namespace tailrace::dense::test
