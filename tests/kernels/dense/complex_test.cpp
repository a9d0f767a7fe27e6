// SPDX-License-Identifier: BSD-3-Clause
// Complex systems against zgesv and zposv.
#include <gtest/gtest.h>

#include <limits>

#include "dense/complex_systems.hpp"

namespace tailrace::dense::test {
namespace {

struct Answered {
  Numbers x;
  int info = 0;
  Certificate certificate;
};

Answered by_lapack(const ComplexSystem& s, char triangle) {
  Answered r{s.b, 0, {}};
  auto a = s.a;
  std::vector<int> pivots(static_cast<std::size_t>(s.n));
  const int n = static_cast<int>(s.n);
  const int lda = static_cast<int>(s.lda);
  const int nrhs = static_cast<int>(s.nrhs);
  if (triangle == 'A') {
    zgesv_(&n, &nrhs, a.data(), &lda, pivots.data(), r.x.data(), &n, &r.info);
  } else {
    zposv_(&triangle, &n, &nrhs, a.data(), &lda, r.x.data(), &n, &r.info, 1);
  }
  return r;
}

Answered by_us(const ComplexSystem& s, const SolveOptions& options, char triangle = 'A') {
  Answered r{s.b, 0, {}};
  r.certificate = triangle == 'A'
                      ? gesv(s.n, s.nrhs, s.a.data(), s.lda, r.x.data(), s.n, options)
                      : posv(triangle, s.n, s.nrhs, s.a.data(), s.lda, r.x.data(), s.n, options);
  r.info = r.certificate.info;
  return r;
}

Certificate expect_as_good(const ComplexSystem& s, const SolveOptions& options,
                           char triangle = 'A') {
  const auto ours = by_us(s, options, triangle);
  const auto theirs = by_lapack(s, triangle);
  EXPECT_EQ(ours.info, 0);
  EXPECT_EQ(theirs.info, 0);
  const auto mine = errors_of(s, ours.x);
  const auto reference = errors_of(s, theirs.x);
  EXPECT_LE(mine.normwise, allowed(reference.normwise));
  EXPECT_LE(mine.componentwise, allowed_componentwise(reference.componentwise));
  EXPECT_NEAR(ours.certificate.backward_error, mine.normwise, 1e-15);
  EXPECT_NEAR(ours.certificate.componentwise_backward_error, mine.componentwise, 1e-15);
  return ours.certificate;
}

TEST(Complex, EveryRungIsAsGoodAsZgesv) {
  for (const auto rung : {Rung::fp32, Rung::fp64}) {
    for (const std::ptrdiff_t n : {1, 2, 5, 7, 33, 130}) {
      for (const std::ptrdiff_t nrhs : {1, 3, 12}) {
        SCOPED_TRACE(std::string(name(rung)) + ", n " + std::to_string(n) + ", nrhs " +
                     std::to_string(nrhs));
        auto s = random_complex(n, nrhs, 3);
        for (std::ptrdiff_t i = 0; i < n; ++i) s.at(i, i) += 3 * std::sqrt(static_cast<double>(n));
        const auto certificate = expect_as_good(s, only(rung));
        EXPECT_EQ(certificate.rung, rung);
        EXPECT_GT(certificate.rcond, 0);
        EXPECT_LE(certificate.rcond, 1);
      }
    }
  }
}

TEST(Complex, EveryCondition) {
  for (int power = 2; power <= 14; power += 4) {
    SCOPED_TRACE("condition 1e" + std::to_string(power));
    const auto s = conditioned_complex(110, std::pow(10, power), 5, false);
    const auto certificate = expect_as_good(s, whole_ladder());
    EXPECT_LE(certificate.rcond, 110 * std::pow(10, -power));
    EXPECT_GE(certificate.rcond, std::pow(10, -power) / 110);
    if (power <= 6) {
      EXPECT_EQ(certificate.rung, Rung::fp32);
    }
    if (power >= 14) {
      EXPECT_EQ(certificate.rung, Rung::fp64);
    }
    const auto h = conditioned_complex(110, std::pow(10, power), 5, true);
    for (const char triangle : {'L', 'U'}) {
      if (power <= 10) expect_as_good(h, whole_ladder(), triangle);
    }
  }
}

TEST(Complex, OtherTriangleIsNotRead) {
  const auto s = conditioned_complex(60, 100, 6, true);
  for (const char triangle : {'L', 'U'}) {
    auto half = s;
    for (std::ptrdiff_t j = 0; j < s.n; ++j) {
      for (std::ptrdiff_t i = 0; i < s.n; ++i) {
        if (triangle == 'L' ? i < j : i > j) {
          half.at(i, j) = std::numeric_limits<double>::quiet_NaN();
        }
      }
    }
    for (const auto rung : {Rung::fp32, Rung::fp64}) {
      const auto ours = by_us(half, only(rung), triangle);
      EXPECT_EQ(ours.certificate.rung, rung);
      EXPECT_LE(errors_of(s, ours.x).normwise, 0x1p-51);
    }
  }
}

TEST(Complex, Gmres) {
  auto options = only(Rung::fp32);
  options.refiner = Refiner::gmres;
  const auto certificate = expect_as_good(conditioned_complex(90, 1e6, 7, false), options);
  EXPECT_EQ(certificate.rung, Rung::fp32);
  EXPECT_GT(certificate.inner_steps, 0);
}

TEST(Complex, SingularAndNotFinite) {
  auto s = random_complex(40, 1, 8);
  for (std::ptrdiff_t i = 0; i < s.n; ++i) s.at(i, 17) = 0;
  auto ours = by_us(s, whole_ladder());
  EXPECT_EQ(ours.info, 18);
  EXPECT_EQ(ours.x, s.b);
  auto h = conditioned_complex(40, 10, 9, true);
  h.at(20, 20) = -1;
  ours = by_us(h, whole_ladder(), 'U');
  EXPECT_EQ(ours.info, by_lapack(h, 'U').info);
  EXPECT_GT(ours.info, 0);
  EXPECT_EQ(ours.x, h.b);
  auto with_nan = random_complex(40, 1, 10);
  with_nan.at(3, 4) = Number(0, std::numeric_limits<double>::quiet_NaN());
  ours = by_us(with_nan, whole_ladder());
  EXPECT_TRUE(std::isnan(ours.x[0].real()) || std::isnan(ours.x[0].imag()));
  EXPECT_THROW(gesv(3, 1, static_cast<const Number*>(nullptr), 3, s.b.data(), 3),
               std::invalid_argument);
}

}  // namespace
}  // namespace tailrace::dense::test
