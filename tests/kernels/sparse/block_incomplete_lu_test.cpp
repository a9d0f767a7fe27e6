// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/block_incomplete_lu.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace tailrace::sparse::test {
namespace {

struct Blocks {
  int block;
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int32_t> columns;
  Vector values;

  BlockIncompleteLu factored(const BlockIncompleteLuOptions& options = {}) const {
    return {block, row_starts, columns, values, options};
  }
  std::size_t num_rows() const { return row_starts.size() - 1; }
  /// The whole matrix, row-major, zeros where there is no block.
  Vector dense() const {
    const auto b = static_cast<std::size_t>(block);
    const auto n = num_rows() * b;
    Vector all(n * n, 0.0);
    for (std::size_t row = 0; row < num_rows(); ++row) {
      for (auto k = row_starts[row]; k < row_starts[row + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        for (std::size_t i = 0; i < b * b; ++i) {
          all[(row * b + i / b) * n + static_cast<std::size_t>(columns[at]) * b + i % b] =
              values[at * b * b + i];
        }
      }
    }
    return all;
  }
  Vector product(const Vector& x) const {
    const auto all = dense();
    Vector y(x.size(), 0.0);
    for (std::size_t i = 0; i < all.size(); ++i) y[i / x.size()] += all[i] * x[i % x.size()];
    return y;
  }
};

Blocks with_columns(int block, const std::vector<std::set<std::int32_t>>& rows, unsigned seed) {
  Blocks a{.block = block, .columns = {}, .values = {}};
  const auto normal = normals(seed);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const auto column : rows[row]) {
      a.columns.push_back(column);
      for (int i = 0; i < block * block; ++i) {
        const bool diagonal = column == static_cast<std::int32_t>(row) && i % (block + 1) == 0;
        a.values.push_back(0.3 * normal() + (diagonal ? 2.0 * block : 0.0));
      }
    }
    a.row_starts.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

Blocks tridiagonal(int block, int rows, unsigned seed) {
  std::vector<std::set<std::int32_t>> found(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row) {
    for (int column = std::max(0, row - 1); column <= std::min(rows - 1, row + 1); ++column) {
      found[static_cast<std::size_t>(row)].insert(column);
    }
  }
  return with_columns(block, found, seed);
}

void expect_near(const Vector& got, const Vector& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << i;
}

TEST(BlockIncompleteLu, IsExactWhereNothingIsLeftOut) {
  for (int block = 2; block <= 16; ++block) {
    for (const auto set :
         {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
      const auto a = tridiagonal(block, 9, static_cast<unsigned>(block));
      const auto x = random_vector(9 * block, 3);
      auto y = a.product(x);
      const auto lu = a.factored({.highest = set});
      lu.solve(y, y);
      expect_near(y, x, 1e-12);
      auto z = a.product(x);
      a.factored({.single_precision = true, .highest = set}).solve(z, z);
      expect_near(z, x, 1e-5);
    }
  }
}

/// x = U^-1 L^-1 b by ILU(0) of the definition: elimination of items, where items outside of A's
/// blocks are dropped. With whole blocks it is the elimination of blocks.
Vector plain_solution(const Blocks& a, const Vector& b) {
  const auto n = b.size();
  const auto size = static_cast<std::size_t>(a.block);
  auto lu = a.dense();
  std::vector<char> kept(n * n, 0);
  for (std::size_t row = 0; row < a.num_rows(); ++row) {
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      for (std::size_t i = 0; i < size * size; ++i) {
        const auto column = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
        kept[(row * size + i / size) * n + column * size + i % size] = 1;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (kept[i * n + k] == 0) continue;
      lu[i * n + k] /= lu[k * n + k];
      for (std::size_t j = k + 1; j < n; ++j) {
        if (kept[i * n + j] != 0) lu[i * n + j] -= lu[i * n + k] * lu[k * n + j];
      }
    }
  }
  Vector x = b;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= lu[i * n + k] * x[k];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= lu[i * n + k] * x[k];
    x[i] /= lu[i * n + i];
  }
  return x;
}

TEST(BlockIncompleteLu, IsTheEliminationOfTheDefinition) {
  for (const int block : {2, 3, 7, 8, 15, 16}) {
    Random random(static_cast<unsigned>(block));
    std::vector<std::set<std::int32_t>> rows(14);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row].insert(static_cast<std::int32_t>(row));
      for (int i = 0; i < 4; ++i) rows[row].insert(static_cast<std::int32_t>(random() % 14));
    }
    auto a = with_columns(block, rows, 5);
    auto lu = a.factored();
    for (const unsigned seed : {5U, 6U}) {
      a = with_columns(block, rows, seed);
      if (seed != 5) lu.set_values(a.values);
      const auto b = random_vector(14 * block, 9);
      Vector x(b.size());
      lu.solve(b, x);
      expect_near(x, plain_solution(a, b), 1e-11);
    }
    EXPECT_EQ(lu.rows(), 14);
    EXPECT_EQ(lu.block(), block);
    EXPECT_GE(lu.memory_bytes(), 8 * a.values.size());
  }
}

template <class Exception, class Action>
void expect_thrown(Action&& action, const std::string& text) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown; \"" << text << "\" was expected";
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(BlockIncompleteLu, RefusesBadInput) {
  using Bad = std::invalid_argument;
  const auto good = tridiagonal(3, 4, 1);
  auto bad = good;
  bad.block = 17;
  expect_thrown<Bad>([&] { bad.factored(); }, "block is 17; it must be from 2 to 16");
  bad = good;
  bad.values.pop_back();
  expect_thrown<Bad>([&] { bad.factored(); }, "10 blocks of 3 x 3 have 90");
  bad = good;
  bad.columns[1] = 3;
  bad.columns[0] = 3;
  expect_thrown<Bad>([&] { bad.factored(); }, "has column 3 twice");
  bad = good;
  bad.columns[0] = 1;
  bad.columns[1] = 2;
  expect_thrown<Bad>([&] { bad.factored(); }, "block row 0 has no block on the diagonal");
  bad = good;
  std::fill(bad.values.begin(), bad.values.begin() + 9, 0.0);
  expect_thrown<std::domain_error>([&] { bad.factored(); }, "of block row 0");
  bad = good;
  bad.values[5] = std::nan("");
  expect_thrown<std::domain_error>([&] { bad.factored(); }, "of block row 0");
  bad = good;
  for (double& value : bad.values) value *= 1e200;
  EXPECT_NO_THROW(bad.factored());
  expect_thrown<std::domain_error>([&] { bad.factored({.single_precision = true}); },
                                   "beyond single precision");

  auto lu = good.factored();
  Vector x(11);
  expect_thrown<Bad>([&] { lu.solve(x, x); }, "the factors have 12 rows");
  expect_thrown<Bad>([&] { lu.set_values(x); }, "the structure has 90");
  expect_thrown<std::domain_error>([&] { lu.set_values(Vector(90)); }, "block row 0");
  x.resize(12);
  expect_thrown<std::logic_error>([&] { lu.solve(x, x); }, "nothing to solve with");
  lu.set_values(good.values);
  EXPECT_NO_THROW(lu.solve(x, x));
}

TEST(InvertBlock, GivesTheInverse) {
  for (const int b : {1, 2, 5, 15, 20}) {
    const auto n = static_cast<std::size_t>(b);
    const auto a = random_vector(b * b, 4);
    auto inverse = a;
    ASSERT_TRUE(invert_block(b, inverse.data()));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += a[i * n + k] * inverse[k * n + j];
        EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-10);
      }
    }
  }
  Vector swapped{0, 2, 4, 0};
  ASSERT_TRUE(invert_block(2, swapped.data()));
  EXPECT_EQ(swapped, (Vector{0, 0.25, 0.5, 0}));
  Vector singular{1, 2, 2, 4};
  EXPECT_FALSE(invert_block(2, singular.data()));
}

/// L U x = b for drawn L and U, of which U's diagonal is given inverted.
TEST(BlockIncompleteLu, TakesFactors) {
  for (int block = 2; block <= 16; ++block) {
    const auto a = tridiagonal(block, 9, 77);
    const auto b = static_cast<std::size_t>(block);
    auto lower = a;
    auto upper = a;
    std::vector<Vector> blocks;  // in column order
    for (std::size_t row = 0; row < a.num_rows(); ++row) {
      for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        Vector turned(b * b);
        for (std::size_t i = 0; i < b * b; ++i) {
          const auto place = at * b * b + i;
          turned[i % b * b + i / b] = a.values[place];
          const auto column = static_cast<std::size_t>(a.columns[at]);
          if (column < row) upper.values[place] = 0;
          if (column > row) lower.values[place] = 0;
          if (column == row) lower.values[place] = i % (b + 1) == 0 ? 1 : 0;
        }
        if (a.columns[at] == static_cast<std::int32_t>(row)) {
          ASSERT_TRUE(invert_block(block, turned.data()));
        }
        blocks.push_back(turned);
      }
    }
    std::vector<const double*> factors;
    for (const auto& one : blocks) factors.push_back(one.data());
    const auto lu = BlockIncompleteLu::from_factors(block, a.row_starts, a.columns, factors);
    const auto wanted = random_vector(9 * block, 78);
    auto x = lower.product(upper.product(wanted));
    lu.solve(x, x);
    expect_near(x, wanted, 1e-12);
    factors.pop_back();
    EXPECT_THROW(BlockIncompleteLu::from_factors(block, a.row_starts, a.columns, factors),
                 std::invalid_argument);
  }
}

}  // namespace
}  // namespace tailrace::sparse::test
