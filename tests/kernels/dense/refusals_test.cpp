// SPDX-License-Identifier: BSD-3-Clause
// What is refused, and what is passed on to LAPACK as it is.
#include <stdexcept>

#include <gtest/gtest.h>

#include "dense/systems.hpp"

namespace tailrace::dense::test {
namespace {

template <class Action>
void expect_refused(Action action, const std::string& text) {
  try {
    action();
    FAIL() << "not refused: " << text;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Refusals, ArgumentsAreNamed) {
  Vector a(16, 1.0);
  Vector b(4, 1.0);
  const auto call = [&](std::ptrdiff_t n, std::ptrdiff_t nrhs, std::ptrdiff_t lda,
                        std::ptrdiff_t ldb, const SolveOptions& options = {}) {
    return [=, &a, &b] { gesv(n, nrhs, a.data(), lda, b.data(), ldb, options); };
  };
  expect_refused(call(-1, 1, 4, 4), "n is -1");
  expect_refused(call(4, -2, 4, 4), "nrhs is -2");
  expect_refused(call(4, 1, 3, 4), "lda is 3");
  expect_refused(call(4, 1, 4, 3), "ldb is 3");
  SolveOptions options;
  options.max_steps = 0;
  expect_refused(call(4, 1, 4, 4, options), "max_steps is 0");
  options = {};
  options.lowest = Rung::fp64;
  options.highest = Rung::fp32;
  expect_refused(call(4, 1, 4, 4, options), "lowest (fp64) is above highest (fp32)");
  options = {};
  options.expected_condition = std::nan("");
  expect_refused(call(4, 1, 4, 4, options), "expected_condition");
  expect_refused([&] { gesv(4, 1, nullptr, 4, b.data(), 4); }, "a is null");
  expect_refused([&] { gesv(4, 1, a.data(), 4, nullptr, 4); }, "b is null");
  expect_refused([&] { posv('X', 4, 1, a.data(), 4, b.data(), 4); }, "triangle");
  EXPECT_EQ(b, Vector(4, 1.0));
}

TEST(Refusals, NothingToSolve) {
  double* const nothing = nullptr;  // real or complex cannot be seen from nullptr alone
  EXPECT_EQ(gesv(0, 1, nothing, 1, nothing, 1).info, 0);
  const auto s = random_system(5, 1, 3);
  EXPECT_EQ(gesv(5, 0, s.a.data(), s.lda, nullptr, 5).info, 0);
}

TEST(Refusals, ZerosAreSeenBeforeAFactorisation) {
  for (const bool row : {false, true}) {
    auto s = random_system(750, 1, 43);  // large enough to be tried
    EXPECT_FALSE(gesv(s.n, 1, s.a.data(), s.lda, Vector(s.b).data(), s.n).attempts.empty());
    for (std::ptrdiff_t i = 0; i < s.n; ++i) (row ? s.at(7, i) : s.at(i, 7)) = 0;
    const auto certificate = gesv(s.n, 1, s.a.data(), s.lda, s.b.data(), s.n);
    EXPECT_TRUE(certificate.attempts.empty());
    EXPECT_GT(certificate.info, 0);
  }
}

TEST(Refusals, SingularAsInLapack) {
  for (const std::ptrdiff_t n : {1, 5, 100}) {
    auto s = random_system(n, 2, 41);
    for (std::ptrdiff_t i = 0; i < n; ++i) s.at(i, n / 2) = 0;
    const auto ours = solve(s, whole_ladder());
    EXPECT_EQ(ours.certificate.info, n / 2 + 1);
    EXPECT_EQ(ours.certificate.info, lapack(s).info);
    EXPECT_EQ(ours.x, s.b);
    EXPECT_TRUE(std::isinf(ours.certificate.forward_error));
  }
}

TEST(Refusals, NotDefiniteAsInLapack) {
  auto s = conditioned_system(60, 10, 43, true);
  s.at(40, 40) = -1;
  const auto ours = solve(s, whole_ladder(), 'L');
  EXPECT_GT(ours.certificate.info, 0);
  EXPECT_EQ(ours.certificate.info, lapack(s, 'L').info);
  EXPECT_EQ(ours.x, s.b);
}

TEST(Refusals, NotFiniteAsInLapack) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    auto s = random_system(50, 1, 47);
    s.at(20, 30) = bad;
    const auto ours = solve(s, whole_ladder());
    const auto reference = lapack(s);
    EXPECT_EQ(ours.certificate.rung, Rung::fp64);
    EXPECT_EQ(ours.certificate.info, reference.info);
    for (std::size_t i = 0; i < ours.x.size(); ++i) {
      EXPECT_TRUE(ours.x[i] == reference.x[i] ||
                  (std::isnan(ours.x[i]) && std::isnan(reference.x[i])));
    }
  }
}

TEST(Refusals, UnprofitableSystemsGoToFp64AtOnce) {
  const auto small = random_system(100, 1, 53);
  const auto ours = solve(small, {});
  EXPECT_TRUE(ours.certificate.attempts.empty());
  EXPECT_EQ(ours.certificate.rung, Rung::fp64);
  EXPECT_EQ(ours.x, lapack(small).x);
  EXPECT_GT(ours.certificate.rcond, 0);
  const auto many = random_system(720, 100, 53);
  SolveOptions options;
  options.bounds = false;
  EXPECT_TRUE(solve(many, options).certificate.attempts.empty());
  const auto one = random_system(720, 1, 53);
  EXPECT_FALSE(solve(one, {}).certificate.attempts.empty());
}

}  // namespace
}  // namespace tailrace::dense::test
