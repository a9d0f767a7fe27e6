// SPDX-License-Identifier: BSD-3-Clause
// What "auto" tries and keeps. Times decide, so tests look at what follows from them.
#include <algorithm>

#include <gtest/gtest.h>

#include "sparse/matrices.hpp"

namespace tailrace::sparse::test {
namespace {

TEST(Choice, KeepsTheFastestOfWhatItTimed) {
  int converted = 0, fastest = 0, tried = 0;
  for (const auto& [name, a] : matrices()) {
    const auto m = make(a, {});
    EXPECT_TRUE(same_matrix(m.to_csr(), a)) << name;
    if (a.values.empty()) {
      EXPECT_TRUE(m.trials().empty());
      continue;
    }
    ASSERT_GE(m.trials().size(), 1U) << name;
    EXPECT_LE(m.trials().size(), 5U) << name;
    EXPECT_EQ(m.trials()[0].storage, "csr, 32-bit columns, fp64");
    const auto best = std::min_element(
        m.trials().begin(), m.trials().end(),
        [](const Trial& one, const Trial& other) { return one.multiply_s < other.multiply_s; });
    const auto kept = std::ranges::find(m.trials(), m.storage(), &Trial::storage);
    ASSERT_NE(kept, m.trials().end()) << name;
    EXPECT_EQ(m.memory_bytes(), kept->memory_bytes) << name;
    // Each candidate is compared with CSR in turns. Times of candidates were taken at different
    // moments: a single one may contradict the choice where something else ran meanwhile.
    fastest += kept == best ? 1 : 0;
    ++tried;
    for (const auto& trial : m.trials()) converted += trial.storage.starts_with("csr") ? 0 : 1;
    const auto x = random_vector(a.columns, 81);
    Vector y(static_cast<std::size_t>(a.rows));
    m.multiply(x, y);
    const auto expected = product(a, x.data());
    const auto size = sizes(a, x);
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_LE(std::abs(y[i] - expected[i]), 1e-13 * size[i]) << name;
    }
  }
  EXPECT_GT(converted, 10);
  EXPECT_GE(4 * fastest, 3 * tried);
}

/// Matrices of which a sample is a part, from the middle: its rows, blocks and diagonals are
/// others.
TEST(Choice, LargeMatricesAreTriedOnSomeRows) {
  std::vector<Named> large;
  large.push_back({"diagonals", diagonals(60001, 60001, {-900, -1, 0, 1, 900}, normals(3))});
  large.push_back({"wide", diagonals(50000, 70000, {-7, 0, 12000}, few_values(4))});
  large.push_back({"blocks", blocks(3, 8000, 8000, 5, 11, 5)});
  large.push_back({"unequal", random_rows(
                                  40007, 40007, 6, [](int row) { return row % 13; }, 500)});
  for (const auto& [name, a] : large) {
    ASSERT_GT(a.values.size(), 100000U) << name;
    const auto m = make(a, {});
    ASSERT_GE(m.trials().size(), 1U) << name;
    EXPECT_TRUE(same_matrix(m.to_csr(), a)) << name << " as " << m.storage();
    const auto x = random_vector(a.columns, 84);
    Vector y(static_cast<std::size_t>(a.rows));
    m.multiply(x, y);
    const auto expected = product(a, x.data());
    const auto size = sizes(a, x);
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_LE(std::abs(y[i] - expected[i]), 1e-13 * size[i]) << name;
    }
  }
}

TEST(Choice, BitForBit) {
  MatrixOptions options;
  options.bit_for_bit = true;
  for (const auto& [name, a] : matrices()) {
    const auto m = make(a, options);
    for (const auto& trial : m.trials()) {
      EXPECT_EQ(trial.storage.find("csr_wide"), std::string::npos) << name;
    }
    const auto x = random_vector(a.columns, 82);
    Vector y(static_cast<std::size_t>(a.rows));
    m.multiply(x, y);
    EXPECT_TRUE(same_bits(y, product(a, x.data()))) << name << " as " << m.storage();
  }
}

TEST(Choice, FewMultipliesAreNotWorthAConversion) {
  const auto a = diagonals(2000, 2000, {-40, -1, 0, 1, 40}, few_values(1));
  MatrixOptions options;
  options.expected_multiplies = 2;
  const auto once = make(a, options);
  EXPECT_TRUE(once.trials().empty());
  EXPECT_EQ(once.storage(), "csr, 32-bit columns, fp64");
  // Features are worth it, but no conversion.
  options.expected_multiplies = 22;
  EXPECT_EQ(make(a, options).trials().size(), 1U);
  options.expected_multiplies = 1000;
  EXPECT_GT(make(a, options).trials().size(), 1U);
}

TEST(Choice, PlainValues) {
  MatrixOptions options;
  options.plain_values = true;
  const auto m = make(diagonals(2000, 2000, {-40, -1, 0, 1, 40}, few_values(1)), options);
  for (const auto& trial : m.trials()) {
    EXPECT_NE(trial.storage.find("fp64"), std::string::npos) << trial.storage;
  }
}

TEST(Choice, CopiesShareTheStorage) {
  const auto a = diagonals(100, 100, {-1, 0, 1}, normals(2));
  const auto x = random_vector(100, 83);
  Vector y(100);
  std::vector<Matrix> kept;
  {
    const auto m = make(a, {});
    kept.push_back(m);
  }
  kept[0].multiply(x, y);
  const auto expected = product(a, x.data());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-12);
}

}  // namespace
}  // namespace tailrace::sparse::test
