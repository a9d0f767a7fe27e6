// SPDX-License-Identifier: BSD-3-Clause
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "matrices.hpp"
#include "sparse/coupled_incomplete_lu.hpp"
#include "sparse/instruction_set.hpp"
#include "tailrace/more/block_incomplete_lu.hpp"

namespace tailrace::sparse::test {
namespace {

constexpr std::array sets{InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512};

/// Numbers for blocks beside the diagonal, and blocks in column order on it.
struct Coupled {
  std::size_t block;
  Csr numbers;
  Aligned<double> blocks;

  std::size_t items() const { return block * block; }
  CoupledArrays arrays() const {
    return {numbers.row_starts.data(), numbers.column_indices.data(), numbers.values.data(),
            blocks.data(), numbers.rows};
  }
  /// y += the row-major items of block k of row `row`, times x.
  void add_product(std::size_t row, std::size_t k, const double* x, double* y) const {
    const auto whole = plain_block(row, k);
    for (std::size_t i = 0; i < items(); ++i) y[i / block] += whole[i] * x[i % block];
  }
  Vector plain_block(std::size_t row, std::size_t k) const {
    Vector whole(items(), 0.0);
    const bool diagonal = numbers.column_indices[k] == static_cast<std::int32_t>(row);
    for (std::size_t i = 0; i < items(); ++i) {
      if (i / block == i % block) whole[i] = numbers.values[k];
      if (diagonal) whole[i] += blocks[row * items() + i % block * block + i / block];
    }
    return whole;
  }
  template <class Visit>
  void for_each_block(Visit visit) const {
    for (std::size_t row = 0; row + 1 < numbers.row_starts.size(); ++row) {
      const auto end = static_cast<std::size_t>(numbers.row_starts[row + 1]);
      for (auto k = static_cast<std::size_t>(numbers.row_starts[row]); k < end; ++k) {
        visit(row, k, static_cast<std::size_t>(numbers.column_indices[k]));
      }
    }
  }
  CoupledIncompleteLu factored(InstructionSet set) const {
    CoupledIncompleteLu lu(static_cast<int>(block), numbers.row_starts, numbers.column_indices,
                           set);
    lu.factor(numbers.values.data(), blocks.data());
    return lu;
  }
};

/// Rows of those offsets, the diagonal among them.
Coupled with_offsets(int block, int rows, const std::vector<int>& offsets) {
  const auto b = static_cast<std::size_t>(block);
  const auto value = normals(static_cast<unsigned>(block));
  Coupled a{b, diagonals(rows, rows, offsets, value), {}};
  a.blocks = Aligned<double>(static_cast<std::size_t>(rows) * a.items());
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    a.blocks[i] = 0.3 * value() + (i % a.items() % (b + 1) == 0 ? 4.0 + block : 0.0);
  }
  return a;
}

void expect_near(const Vector& got, const Vector& wanted) {
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-12) << i;
}

TEST(Coupled, MultipliesAsPlainBlocksDo) {
  for (int block = 1; block <= 16; ++block) {
    const auto a = with_offsets(block, 11, {-3, -1, 0, 1, 3});
    const auto x = random_vector(11 * block, 3);
    Vector wanted(x.size(), 0.0);
    a.for_each_block([&](std::size_t row, std::size_t k, std::size_t column) {
      a.add_product(row, k, &x[column * a.block], &wanted[row * a.block]);
    });
    for (const auto set : sets) {
      Vector y(x.size(), 99.0);
      kernels_up_to(set).coupled[block](a.arrays(), x.data(), y.data());
      expect_near(y, wanted);
    }
  }
}

TEST(Coupled, FactorsAreThoseOfBlocksWhereNoThreeRowsMeet) {
  for (int block = 2; block <= 16; ++block) {
    const auto a = with_offsets(block, 14, {-4, -1, 0, 1, 4});
    Vector values;
    a.for_each_block([&](std::size_t row, std::size_t k, std::size_t) {
      const auto whole = a.plain_block(row, k);
      values.insert(values.end(), whole.begin(), whole.end());
    });
    const BlockIncompleteLu plain(block, a.numbers.row_starts, a.numbers.column_indices, values);
    const auto b = random_vector(14 * block, 4);
    Vector wanted(b.size());
    plain.solve(b, wanted);
    for (const auto set : sets) {
      Vector x = b;
      a.factored(set).solve(a.numbers.values.data(), x.data(), x.data());
      expect_near(x, wanted);
    }
  }
}

/// (D + L) D^-1 (D + U) x by its definition, blocks of D by plain loops.
Vector product_of_factors(const Coupled& a, const Vector& x) {
  const auto n = a.items();
  std::vector<Vector> d(x.size() / a.block, Vector(n, 0.0)), inverse(d.size());
  a.for_each_block([&](std::size_t row, std::size_t k, std::size_t column) {
    if (column == row) {
      const auto whole = a.plain_block(row, k);
      for (std::size_t i = 0; i < n; ++i) d[row][i] += whole[i];
    } else if (column < row) {
      a.for_each_block([&](std::size_t other, std::size_t m, std::size_t back) {
        if (other != column || back != row) return;
        for (std::size_t i = 0; i < n; ++i) {
          d[row][i] -= a.numbers.values[k] * a.numbers.values[m] * inverse[column][i];
        }
      });
    }
    if (k + 1 < static_cast<std::size_t>(a.numbers.row_starts[row + 1])) return;
    inverse[row] = d[row];
    invert_block(static_cast<int>(a.block), inverse[row].data());
  });
  const auto apply = [&](const Vector& from, std::size_t row, const Vector& block, Vector& to) {
    for (std::size_t i = 0; i < n; ++i) {
      to[row * a.block + i / a.block] += block[i] * from[row * a.block + i % a.block];
    }
  };
  const auto add_triangle = [&](bool upper, const Vector& from, Vector& to) {
    a.for_each_block([&](std::size_t row, std::size_t k, std::size_t column) {
      if (upper ? column > row : column < row) {
        a.add_product(row, k, &from[column * a.block], &to[row * a.block]);
      }
    });
  };
  Vector upper(x.size(), 0.0), between(x.size(), 0.0), y(x.size(), 0.0);
  for (std::size_t row = 0; row < d.size(); ++row) apply(x, row, d[row], upper);
  add_triangle(true, x, upper);
  for (std::size_t row = 0; row < d.size(); ++row) apply(upper, row, inverse[row], between);
  for (std::size_t row = 0; row < d.size(); ++row) apply(between, row, d[row], y);
  add_triangle(false, between, y);
  return y;
}

TEST(Coupled, FactorsAreThoseOfTheDefinition) {
  for (const int block : {1, 3, 4, 8, 15}) {
    // Rows i, i - 1, i - 2 are all coupled; (i, i - 5) has no transposed place.
    const auto a = with_offsets(block, 12, {-5, -2, -1, 0, 1, 2});
    const auto x = random_vector(12 * block, 6);
    const auto b = product_of_factors(a, x);
    for (const auto set : sets) {
      Vector y(x.size());
      a.factored(set).solve(a.numbers.values.data(), b.data(), y.data());
      expect_near(y, x);
    }
  }
}

TEST(Coupled, FactorsNameTheRowThatIsSingular) {
  auto a = with_offsets(3, 6, {-1, 0, 1});
  for (double& value : a.numbers.values) value = 0;
  for (std::size_t i = 0; i < 3; ++i) a.blocks[4 * 9 + i * 3] = a.blocks[4 * 9 + i * 3 + 1];
  for (const auto set : sets) {
    try {
      a.factored(set);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::domain_error& error) {
      EXPECT_NE(std::string(error.what()).find("block row 4"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tailrace::sparse::test
