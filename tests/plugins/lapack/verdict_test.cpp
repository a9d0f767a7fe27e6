// SPDX-License-Identifier: BSD-3-Clause
// Who does a call, by made-up times. The tally is one a process, so places differ from test to
// test.
#include "verdict.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tailrace::lapack {
namespace {

std::array<char, 20> places;  // whose addresses are callers and libraries

Request request(std::size_t place, std::ptrdiff_t n = 2000) {
  return {&places[place], &places[place], false, n, 1};
}

dense::Certificate solved() {
  dense::Certificate certificate;
  certificate.rung = dense::Rung::fp32;
  certificate.rcond = 1e-3;
  return certificate;
}

/// A call of a program in which ours and LAPACK take these seconds; who did it.
Refusal call(const Request& asked, double ours_s, double lapack_s) {
  const auto verdict = decide(asked);
  if (verdict.refusal == Refusal::none) {
    took(verdict.site, asked, solved(), ours_s);
  } else {
    lapack_took(verdict.site, asked, lapack_s);
  }
  return verdict.refusal;
}

TEST(Verdict, CanariesAreFew) {
  int canaries = 0;
  for (int k = 1; k <= 320; ++k) {
    const auto who = call(request(0), 1, 2);
    canaries += who == Refusal::canary ? 1 : 0;
    EXPECT_EQ(who == Refusal::canary, k == 2 || k == 4 || k == 8 || k % 32 == 0);
  }
  EXPECT_EQ(canaries, 3 + 10);
  EXPECT_NE(summary().find("320 calls seen, 307 taken (fp32 307)"), std::string::npos);
  EXPECT_NE(summary().find("gained about 307 s"), std::string::npos);
}

TEST(Verdict, PlaceThatIsNoFasterIsLeftAlone) {
  EXPECT_EQ(call(request(1), 2, 1), Refusal::none);
  EXPECT_EQ(call(request(1), 2, 1), Refusal::canary);
  for (int k = 0; k < 50; ++k) EXPECT_EQ(call(request(1), 2, 1), Refusal::no_faster);
  int ours = 0;
  for (int k = 0; k < 12; ++k) ours += call(request(2), 0.99, 1) == Refusal::none ? 1 : 0;
  EXPECT_EQ(ours, 2);  // calls 1 and 3: two pairs are compared after the canary of call 4
  EXPECT_EQ(call(request(1, 3000), 1, 2), Refusal::none);  // another size is another place
}

TEST(Verdict, LaterSolvesCountAgainstTheirFactors) {
  const auto asked = request(19);
  int ours = 0;
  for (int k = 0; k < 12; ++k) {
    const auto verdict = decide(asked);
    if (verdict.refusal == Refusal::none) {
      ++ours;
      took(verdict.site, asked, solved(), 0.7);
      solved_later(verdict.site, asked.n, 0.4);
    } else {
      lapack_took(verdict.site, asked, 1);
    }
  }
  EXPECT_EQ(ours, 2);  // calls 1 and 3; after the canary of call 4 it is known that 1.1 > 1
}

TEST(Verdict, ComplexSystemsHaveTimesOfTheirOwn) {
  auto complex = request(12);
  complex.complex = true;
  for (int k = 0; k < 8; ++k) call(request(12), 1, 2);
  EXPECT_EQ(call(complex, 4, 8), Refusal::none);  // dearer, but than its own kind it is cheaper
  EXPECT_EQ(call(complex, 4, 8), Refusal::canary);
  EXPECT_EQ(call(complex, 4, 8), Refusal::none);
}

TEST(Verdict, LeastSquaresHaveTimesOfTheirOwn) {
  auto tall = request(18);
  for (int k = 0; k < 8; ++k) call(request(18), 1, 2);
  tall.rows = 8000;
  EXPECT_EQ(call(tall, 8, 16), Refusal::none);
  EXPECT_EQ(call(tall, 8, 16), Refusal::canary);
  EXPECT_EQ(call(tall, 8, 16), Refusal::none);
  tall.rows = 2000;  // another size
  EXPECT_EQ(call(tall, 8, 4), Refusal::none);
  EXPECT_EQ(call(tall, 8, 4), Refusal::canary);
  EXPECT_EQ(call(tall, 8, 4), Refusal::no_faster);
}

TEST(Verdict, ParallelCallsAreCountedByThemselves) {
  EXPECT_EQ(summary().find("pdgesv"), std::string::npos);
  auto parallel = request(16);
  parallel.parallel = true;
  const auto verdict = decide(parallel);
  failed(verdict.site, solved(), 1e6);  // a loss that the others do not bear
  EXPECT_EQ(decide(parallel).refusal, Refusal::remembered);
  EXPECT_EQ(decide(parallel).refusal, Refusal::guard);
  EXPECT_EQ(call(request(17), 1, 2), Refusal::none);
  count_small(true);
  EXPECT_NE(summary().find("tailrace: pdgesv, pdposv, pdgels, pzgesv, pzposv: 4 calls seen, 0 "
                           "taken; left to ScaLAPACK: 1 small"),
            std::string::npos)
      << summary();
}

TEST(Verdict, CompetitorIsTimedOnceForAllPlaces) {
  auto first = request(3);
  for (int k = 0; k < 8; ++k) call(first, 1, 2);
  first.caller = &places[4];
  for (int k = 0; k < 31; ++k) EXPECT_EQ(call(first, 1, 2), Refusal::none);
  EXPECT_EQ(call(first, 1, 2), Refusal::canary);
}

TEST(Verdict, WhatFailsIsTriedLessAndLess) {
  const auto asked = request(5);
  int tried = 0;
  for (int k = 0; k < 300; ++k) {
    const auto verdict = decide(asked);
    if (verdict.refusal == Refusal::none) {
      ++tried;
      failed(verdict.site, {}, 0.001);
    } else {
      EXPECT_TRUE(verdict.refusal == Refusal::remembered || verdict.refusal == Refusal::canary);
    }
    lapack_took(verdict.site, asked, 1);
  }
  EXPECT_GE(tried, 6);
  EXPECT_LE(tried, 9);
}

TEST(Verdict, AfterBf16ComesFp32) {
  const auto asked = request(13);
  dense::Certificate certificate;
  certificate.rung = dense::Rung::bf16x2;
  const auto first = decide(asked);
  EXPECT_EQ(first.expected_condition, 0);
  failed(first.site, certificate, 0.001);
  EXPECT_EQ(decide(asked).refusal, Refusal::remembered);
  EXPECT_GT(decide(asked).expected_condition, 1e8);
  certificate.rung = dense::Rung::fp32;
  failed(first.site, certificate, 0.001);
  EXPECT_EQ(decide(asked).expected_condition, 0);
}

TEST(Verdict, GuardStopsWhatLoses) {
  const auto asked = request(6);
  const auto first = decide(asked);
  ASSERT_EQ(first.refusal, Refusal::none);
  failed(first.site, {}, 1e6);
  lapack_took(first.site, asked, 1);
  EXPECT_EQ(decide(asked).refusal, Refusal::remembered);
  EXPECT_EQ(decide(asked).refusal, Refusal::guard);
  EXPECT_EQ(decide(request(7)).refusal, Refusal::guard);
  lapack_took(first.site, asked, 1e8);  // the loss is now below 3 %
  EXPECT_NE(decide(request(7)).refusal, Refusal::guard);
}

TEST(Verdict, FactorsThatAreUsed) {
  const auto asked = request(8);
  const auto first = decide(asked);
  ASSERT_EQ(first.refusal, Refusal::none);
  took(first.site, asked, solved(), 1);
  restored(first.site, 1);
  for (int k = 0; k < 5; ++k) EXPECT_EQ(decide(asked).refusal, Refusal::factors);
}

/// The last test: its times are beyond all others.
TEST(Verdict, SmallSystemsWaitUntilAFailureIsPaidFor) {
  const auto asked = request(14, 1000);
  int waited = 0;
  auto verdict = decide(asked);
  for (; verdict.refusal == Refusal::canary && waited < 100; ++waited) {
    lapack_took(verdict.site, asked, 1e9);
    verdict = decide(asked);
  }
  EXPECT_EQ(verdict.refusal, Refusal::none);
  EXPECT_NEAR(waited, 20, 2);
  EXPECT_EQ(decide(request(15)).refusal, Refusal::none);  // a large one need not wait
}

}  // namespace
}  // namespace tailrace::lapack
