// SPDX-License-Identifier: BSD-3-Clause
// ICC(0): beside ILU(0), its shift of the diagonal, and use in an iteration.
#include <map>
#include <random>
#include <stdexcept>

#include "sparse/factors.hpp"

namespace tailrace::sparse::test {
namespace {

IncompleteLu make_cholesky(const Csr& a, const IncompleteLuOptions& options = {}) {
  return IncompleteLu::cholesky(
      std::span<const std::int64_t>(a.row_starts),
      std::vector<std::int64_t>(a.column_indices.begin(), a.column_indices.end()), a.values,
      options);
}

/// Symmetric, of random structure, each diagonal item `dominance` times the rest of its row.
Csr symmetric(int n, double dominance, unsigned seed) {
  Random random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::set<std::int32_t>> rows(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    rows[static_cast<std::size_t>(i)].insert(i);
    for (int k = 0; k < 4; ++k) {
      const auto j = static_cast<int>(random() % static_cast<unsigned>(n));
      rows[static_cast<std::size_t>(i)].insert(j);
      rows[static_cast<std::size_t>(j)].insert(i);
    }
  }
  auto a = from_rows(n, rows, [] { return 0.0; });
  std::map<std::pair<std::int32_t, std::int32_t>, double> drawn;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    double size = 0.1;
    std::size_t diagonal = 0;
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const auto item = static_cast<std::size_t>(k);
      const std::int32_t i = static_cast<std::int32_t>(row);
      const std::int32_t j = a.column_indices[item];
      if (i == j) {
        diagonal = item;
        continue;
      }
      const auto found = drawn.try_emplace(std::minmax(i, j), normal(random)).first;
      a.values[item] = found->second;
      size += std::abs(found->second);
    }
    a.values[diagonal] = dominance * size;
  }
  return a;
}

TEST(IncompleteCholesky, IsTheSymmetricIlu) {
  for (const auto& a : {symmetric(300, 1.1, 7), laplacian(17)}) {
    const auto icc = make_cholesky(a);
    EXPECT_EQ(icc.shift(), 0);
    const auto& f = icc.factors();
    const auto lu = make_lu(a);
    const auto& ilu = lu.factors();
    ASSERT_EQ(f.column_indices, a.column_indices);
    ASSERT_EQ(f.row_starts, a.row_starts);
    for (std::size_t k = 0; k < f.values.size(); ++k) {
      ASSERT_NEAR(f.values[k], ilu.values[k], 1e-12 * (1 + std::abs(ilu.values[k])));
    }
    // U = D L^T to the last bit, so that M is symmetric.
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(a.rows); ++i) {
      for (std::int32_t j = 0; j < i; ++j) ASSERT_EQ(at(f, j, i), at(f, j, j) * at(f, i, j));
    }
  }
}

TEST(IncompleteCholesky, ReadsTheLowerTriangle) {
  const auto a = symmetric(100, 1.1, 8);
  Csr lower{a.rows, a.rows, {0}, {}, {}};
  auto wrong = a;
  for (std::size_t row = 0; row < 100; ++row) {
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const auto item = static_cast<std::size_t>(k);
      if (a.column_indices[item] > static_cast<std::int32_t>(row)) {
        wrong.values[item] = std::nan("");
        continue;
      }
      lower.column_indices.push_back(a.column_indices[item]);
      lower.values.push_back(a.values[item]);
    }
    lower.row_starts.push_back(std::ssize(lower.values));
  }
  const auto expected = make_cholesky(a).factors();
  EXPECT_EQ(make_cholesky(lower).factors().values, expected.values);
  EXPECT_EQ(make_cholesky(wrong).factors().values, expected.values);
}

TEST(IncompleteCholesky, ShiftsWhatHasNoFactors) {
  int shifted = 0;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const auto a = symmetric(200, 0.3, 20 + seed);
    const auto icc = make_cholesky(a);
    shifted += icc.shift() > 0 ? 1 : 0;
    const auto& f = icc.factors();
    for (std::int32_t i = 0; i < 200; ++i) {
      ASSERT_GT(at(f, i, i), 0);
      // L D L^T is A + shift diag(A) on the diagonal.
      double sum = at(f, i, i);
      for (std::int32_t j = 0; j < i; ++j) sum += at(f, i, j) * at(f, j, i);
      ASSERT_NEAR(sum, (1 + icc.shift()) * at(a, i, i), 1e-10 * at(a, i, i) * (1 + icc.shift()));
    }
  }
  EXPECT_GT(shifted, 2);
  // Positive definite, but without ICC(0): Kershaw's matrix (J. Comp. Phys. 26 (1978) 43).
  const Csr kershaw{4,
                    4,
                    {0, 3, 6, 9, 12},
                    {0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3},
                    {3, -2, 2, -2, 3, -2, -2, 3, -2, 2, -2, 3}};
  EXPECT_LT(at(make_lu(kershaw).factors(), 3, 3), 0);
  EXPECT_GT(make_cholesky(kershaw).shift(), 0);
}

TEST(IncompleteCholesky, ConjugateGradientsTakeFewerSteps) {
  const auto a = laplacian(40);
  const auto icc = make_cholesky(a);
  const auto lu = make_lu(a);
  const int plain = steps_of_cg(a, [](const Vector& r, Vector& z) { z = r; });
  const int with_icc = steps_of_cg(a, [&](const Vector& r, Vector& z) { icc.solve(r, z); });
  const int with_lu = steps_of_cg(a, [&](const Vector& r, Vector& z) { lu.solve(r, z); });
  EXPECT_LT(2 * with_icc, plain);
  EXPECT_LE(std::abs(with_icc - with_lu), 1);
}

TEST(IncompleteCholesky, BadInputIsNamed) {
  using Bad = std::domain_error;
  const Csr negative{2, 2, {0, 1, 3}, {0, 0, 1}, {1, 0, -2}};
  expect_thrown<Bad>([&] { make_cholesky(negative); }, "row 1 has -2.000000 on the diagonal");
  const Csr zero{1, 1, {0, 1}, {0}, {0}};
  expect_thrown<Bad>([&] { make_cholesky(zero); }, "row 0 has 0.000000 on the diagonal");
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    const Csr lost{2, 2, {0, 1, 3}, {0, 0, 1}, {1, bad, 1}};
    expect_thrown<Bad>([&] { make_cholesky(lost); }, "row 1 has ");
  }
  const Csr no_diagonal{2, 2, {0, 1, 2}, {0, 0}, {1, 1}};
  expect_thrown<std::invalid_argument>([&] { make_cholesky(no_diagonal); },
                                       "row 1 has no item on the diagonal");
  const Csr hopeless{2, 2, {0, 1, 3}, {0, 0, 1}, {1e-300, 1e300, 1e-300}};
  expect_thrown<Bad>([&] { make_cholesky(hopeless); }, "found no shift");
  EXPECT_EQ(make_cholesky(Csr{0, 0, {0}, {}, {}}).rows(), 0);
}

}  // namespace
}  // namespace tailrace::sparse::test
