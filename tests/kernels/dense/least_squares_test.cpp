// SPDX-License-Identifier: BSD-3-Clause
// Least squares beside dgels: errors in long double, info, and what is refused.
#include <stdexcept>

#include <gtest/gtest.h>

#include "dense/least_squares.hpp"
#include "tailrace/more/dense_factors.hpp"

namespace tailrace::dense::test {
namespace {

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
    EXPECT_LE(optimal_backward_error(p, x), std::max(1.5 * optimal_backward_error(p, y), 0x1p-50));
    const auto [mine, rounding] = backward_error(p, x);
    EXPECT_NEAR(certificate.backward_error, mine, 0.5 * mine + rounding + 1e-13);
    double of_a = 0;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        of_a += std::norm(p.a[static_cast<std::size_t>(i + j * p.lda())]);
      }
    }
    // Below X: the residual, in squares. A change of A by rounding changes its size by as much,
    // times x. (Where LAPACK is called twice, its answers may differ with the place in memory.)
    for (std::ptrdiff_t c = 0; c < nrhs; ++c) {
      double of_x = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        of_x += std::norm(y[static_cast<std::size_t>(i + c * p.ldb())]);
      }
      double squares = 0;
      double given = 0;
      for (std::ptrdiff_t i = n; i < m; ++i) {
        squares += std::norm(x[static_cast<std::size_t>(i + c * p.ldb())]);
        given += std::norm(y[static_cast<std::size_t>(i + c * p.ldb())]);
      }
      EXPECT_NEAR(std::sqrt(squares), std::sqrt(given),
                  1e-9 * (1 + std::sqrt(given)) + 0x1p-50 * std::sqrt(of_a * of_x));
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

/// R of A's columns as they are: R^H R is A^H A to single precision; without an answer nothing is
/// written.
template <class S>
void expect_factors_in_place() {
  const auto p = random_problem<S>(90, 40, 1, 1, 0.5, 9);
  auto a = p.a;
  auto x = p.b;
  ASSERT_EQ(gels_in_place<S>(90, 40, 1, a.data(), p.lda(), x.data(), p.ldb()).info, 0);
  Items<S> y;
  ASSERT_EQ(reference(p, y), 0);
  for (std::size_t j = 0; j < 40; ++j) EXPECT_LE(std::abs(x[j] - y[j]), 1e-13);
  const auto at = [&](const Items<S>& items, std::ptrdiff_t i, std::ptrdiff_t j) {
    return items[static_cast<std::size_t>(i + j * p.lda())];
  };
  for (std::ptrdiff_t i = 0; i < 40; ++i) {
    for (std::ptrdiff_t j = 0; j < 40; ++j) {
      S difference = 0;
      for (std::ptrdiff_t k = 0; k < 90; ++k) {
        difference += product(conjugate(at(p.a, k, i)), at(p.a, k, j));
      }
      for (std::ptrdiff_t k = 0; k <= std::min(i, j); ++k) {
        difference -= product(conjugate(at(a, k, i)), at(a, k, j));
      }
      EXPECT_LE(std::abs(difference), 1e-3);
    }
  }
  const auto hopeless = random_problem<S>(90, 40, 1, 1e10, 0.5, 9);
  a = hopeless.a;
  x = hopeless.b;
  EXPECT_EQ(gels_in_place<S>(90, 40, 1, a.data(), p.lda(), x.data(), p.ldb()).info, -1);
  EXPECT_TRUE(a == hopeless.a && x == hopeless.b);
}

TEST(LeastSquares, FactorsInPlace) {
  expect_factors_in_place<double>();
  expect_factors_in_place<Complex>();
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
