// SPDX-License-Identifier: BSD-3-Clause
// ILU(0): the factors' property, solves against plain loops bit by bit, and use in an iteration.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>

#include "sparse/factors.hpp"

namespace tailrace::sparse::test {
namespace {

/// The square ones, with a diagonal larger than the rest of its row.
std::vector<Named> dominant_matrices() {
  std::vector<Named> found;
  for (auto& [name, a] : matrices()) {
    if (a.rows != a.columns) continue;
    std::vector<std::set<std::int32_t>> rows(static_cast<std::size_t>(a.rows));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row].insert(static_cast<std::int32_t>(row));
      for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
        rows[row].insert(a.column_indices[static_cast<std::size_t>(k)]);
      }
    }
    auto made = from_rows(a.columns, rows, normals(90));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      double size = 1;
      std::size_t diagonal = 0;
      for (auto k = made.row_starts[row]; k < made.row_starts[row + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        size += std::abs(made.values[at]);
        if (made.column_indices[at] == static_cast<std::int32_t>(row)) diagonal = at;
      }
      made.values[diagonal] = size;
    }
    found.push_back({name, std::move(made)});
  }
  return found;
}

Vector plain_solve(const Csr& f, Vector x) {
  const auto row_items = [&f](std::size_t row, auto visit) {
    for (auto k = f.row_starts[row]; k < f.row_starts[row + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      visit(static_cast<std::size_t>(f.column_indices[at]), f.values[at]);
    }
  };
  for (std::size_t row = 0; row < x.size(); ++row) {
    row_items(row, [&](std::size_t column, double value) {
      if (column < row) x[row] -= value * x[column];
    });
  }
  for (auto row = x.size(); row-- > 0;) {
    double pivot = 0;
    row_items(row, [&](std::size_t column, double value) {
      if (column > row) x[row] -= value * x[column];
      if (column == row) pivot = value;
    });
    x[row] *= 1 / pivot;
  }
  return x;
}

TEST(IncompleteLu, ProductIsTheMatrixOnItsPlaces) {
  int checked = 0;
  for (const auto& [name, a] : dominant_matrices()) {
    if (a.rows > 700) continue;
    const auto f = make_lu(a).factors();
    ASSERT_EQ(f.column_indices, a.column_indices) << name;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(a.rows); ++i) {
      for (auto k = a.row_starts[static_cast<std::size_t>(i)];
           k < a.row_starts[static_cast<std::size_t>(i) + 1]; ++k) {
        const auto j = a.column_indices[static_cast<std::size_t>(k)];
        double sum = i <= j ? at(f, i, j) : 0;
        for (auto l = f.row_starts[static_cast<std::size_t>(i)];
             f.column_indices[static_cast<std::size_t>(l)] < i; ++l) {
          const auto middle = f.column_indices[static_cast<std::size_t>(l)];
          if (middle <= j) sum += f.values[static_cast<std::size_t>(l)] * at(f, middle, j);
        }
        ASSERT_NEAR(sum, a.values[static_cast<std::size_t>(k)], 1e-12 * at(a, i, i)) << name;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 10000);
}

TEST(IncompleteLu, EverySolveHasTheBitsOfPlainLoops) {
  for (const auto& [name, a] : dominant_matrices()) {
    const auto b = random_vector(a.rows, 91);
    for (const auto* schedule : {"rows", "levels", "auto"}) {
      for (const auto set :
           {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
        if (set > best_instruction_set()) continue;
        const auto lu = make_lu(a, {.schedule = schedule, .bit_for_bit = true, .highest = set});
        const auto expected = plain_solve(lu.factors(), b);
        Vector x(b.size());
        lu.solve(b, x);
        EXPECT_TRUE(same_bits(x, expected)) << name << ", " << lu.storage();
        auto same = b;
        lu.solve(same, same);
        EXPECT_TRUE(same_bits(same, expected)) << name << ", in place, " << lu.storage();
      }
    }
  }
}

TEST(IncompleteLu, ChainDiffersByRoundOff) {
  int num_on_diagonals = 0;
  for (const auto& [name, a] : dominant_matrices()) {
    const auto b = random_vector(a.rows, 91);
    const auto lu = make_lu(a, {.schedule = "chain"});
    EXPECT_TRUE(lu.storage().starts_with("chain, fp64")) << lu.storage();
    const bool on_diagonals = lu.storage() == "chain, fp64, diagonals";
    num_on_diagonals += on_diagonals ? 1 : 0;
    EXPECT_FALSE(on_diagonals && name == "band");
    EXPECT_TRUE(on_diagonals || name != "stencil");
    const auto expected = plain_solve(lu.factors(), b);
    const auto again = IncompleteLu::from_factors(lu.factors(), {.schedule = "chain"});
    auto x = b;
    lu.solve(x, x);
    Vector y(b.size());
    again.solve(b, y);
    EXPECT_TRUE(same_bits(x, y)) << name;
    auto single = b;
    make_lu(a, {.schedule = "chain", .single_precision = true}).solve(single, single);
    double largest = 0;
    for (const double item : expected) largest = std::max(largest, std::abs(item));
    for (std::size_t i = 0; i < b.size(); ++i) {
      EXPECT_NEAR(x[i], expected[i], 1e-13 * largest) << name;
      EXPECT_NEAR(single[i], expected[i], 1e-5 * largest) << name;
    }
  }
  EXPECT_GE(num_on_diagonals, 3);
}

/// As `expected`: infinite and NaN at the same places, finite ones within round-off.
void expect_like(const Vector& x, const Vector& expected, const std::string& what) {
  double largest = 0;
  for (const double item : expected) {
    if (std::isfinite(item)) largest = std::max(largest, std::abs(item));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool alike = std::isfinite(expected[i]) ? std::abs(x[i] - expected[i]) <= 1e-13 * largest
                                                  : same_bits(x[i], expected[i]);
    ASSERT_TRUE(alike) << what << ", row " << i << ": " << x[i] << " in place of " << expected[i];
  }
}

/// Diagonals with gaps: no row of a piece of 40 is coupled with one of another piece.
Csr separate_pieces(int rows) {
  Csr a{rows, rows, {0}, {}, {}};
  for (int row = 0; row < rows; ++row) {
    for (const int column : {row - 10, row - 1, row, row + 1, row + 10}) {
      if (column < 0 || column >= rows || column / 40 != row / 40) continue;
      a.column_indices.push_back(column);
      a.values.push_back(column == row ? 5 : -1);
    }
    a.row_starts.push_back(std::ssize(a.values));
  }
  return a;
}

TEST(IncompleteLu, WhatIsNotFiniteSpreadsByItemsAlone) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto all = dominant_matrices();
  all.push_back({"laplacian", laplacian(20)});
  for (const int rows : {160, 397}) all.push_back({"pieces", separate_pieces(rows)});
  int finite_beside = 0;
  for (const auto& [name, a] : all) {
    if (a.rows == 0) continue;
    for (const double odd : {infinity, -infinity, std::nan(""), 1e308}) {
      for (const double place : {0.0, 0.35, 0.5, 0.97, 1.0}) {
        auto b = random_vector(a.rows, 95);
        b[static_cast<std::size_t>(place * static_cast<double>(a.rows - 1))] = odd;
        for (const auto* schedule : {"rows", "levels", "chain"}) {
          const auto lu = make_lu(a, {.schedule = schedule});
          const auto expected = plain_solve(lu.factors(), b);
          Vector x(b.size());
          lu.solve(b, x);
          auto same = b;
          lu.solve(same, same);
          const auto what = name + ", " + lu.storage() + ", " + std::to_string(odd);
          expect_like(x, expected, what);
          expect_like(same, expected, what + ", in place");
          const auto num_finite =
              std::ranges::count_if(x, [](double v) { return std::isfinite(v); });
          if (lu.storage() == "chain, fp64, diagonals" && !std::isfinite(odd) && num_finite > 0) {
            ++finite_beside;
          }
        }
      }
    }
  }
  EXPECT_GE(finite_beside, 30);
}

TEST(IncompleteLu, SinglePrecisionIsNear) {
  for (const auto& [name, a] : dominant_matrices()) {
    const auto b = random_vector(a.rows, 92);
    Vector rows(b.size());
    Vector levels(b.size());
    make_lu(a, {.schedule = "rows", .single_precision = true}).solve(b, rows);
    make_lu(a, {.schedule = "levels", .single_precision = true}).solve(b, levels);
    EXPECT_TRUE(same_bits(rows, levels)) << name;
    const auto exact = plain_solve(make_lu(a).factors(), b);
    double largest = 0;
    for (const double item : exact) largest = std::max(largest, std::abs(item));
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(rows[i], exact[i], 1e-5 * largest);
  }
}

/// A tridiagonal matrix has no fill, so its ILU(0) is its LU.
TEST(IncompleteLu, ExactWithoutFill) {
  const auto a = diagonals(501, 501, {-1, 0, 1}, [i = 0]() mutable { return ++i % 3 ? -1. : 2.5; });
  auto dominant = a;
  for (std::size_t k = 0; k < a.values.size(); ++k) dominant.values[k] = -1;
  for (std::size_t row = 0; row < 501; ++row) {
    const auto k = static_cast<std::size_t>(a.row_starts[row]) + (row == 0 ? 0U : 1U);
    dominant.values[k] = 3;
  }
  const auto expected = random_vector(501, 93);
  const auto b = product(dominant, expected.data());
  const auto lu = make_lu(dominant);
  EXPECT_EQ(lu.num_levels(), 501);
  Vector x(501);
  lu.solve(b, x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected[i], 1e-13);
}

TEST(IncompleteLu, ConjugateGradientsTakeFewerSteps) {
  const int n = 40;
  const auto a = laplacian(n);
  const auto lu = make_lu(a);
  const auto rounded = make_lu(a, {.single_precision = true});
  EXPECT_EQ(lu.num_levels(), 2 * n - 1);
  const int plain = steps_of_cg(a, [](const Vector& r, Vector& z) { z = r; });
  const int with_lu = steps_of_cg(a, [&](const Vector& r, Vector& z) { lu.solve(r, z); });
  const int with_rounded = steps_of_cg(a, [&](const Vector& r, Vector& z) { rounded.solve(r, z); });
  EXPECT_LT(2 * with_lu, plain);
  EXPECT_LE(std::abs(with_lu - with_rounded), 1);
}

TEST(IncompleteLu, ModifiedKeepsRowSums) {
  const auto a = laplacian(12);
  const Vector ones(static_cast<std::size_t>(a.rows), 1.0);
  const auto sums = product(a, ones.data());
  for (const double modified : {0.0, 0.5, 1.0}) {
    const auto lu = make_lu(a, {.modified = modified});
    Vector x(ones.size());  // of L U x = A 1: ones if L U has A's row sums
    lu.solve(sums, x);
    double worst = 0;
    for (const double item : x) worst = std::max(worst, std::abs(item - 1));
    if (modified == 1) {
      EXPECT_LT(worst, 1e-12);
    } else {
      EXPECT_GT(worst, 0.1);
    }
    const auto& factors = lu.factors();  // symmetric as A: L D L^T
    for (std::int32_t row = 1; row < 144; ++row) {
      EXPECT_NEAR(at(factors, row, row - 1) * at(factors, row - 1, row - 1),
                  at(factors, row - 1, row), 1e-14);
    }
  }
}

TEST(IncompleteLu, BadInputIsNamed) {
  using Bad = std::invalid_argument;
  const Csr no_diagonal{2, 2, {0, 1, 2}, {0, 0}, {1, 1}};
  expect_thrown<Bad>([&] { make_lu(no_diagonal); }, "row 1 has no item on the diagonal");
  const Csr wide{2, 3, {0, 2, 3}, {0, 2, 1}, {1, 1, 1}};
  expect_thrown<Bad>([&] { make_lu(wide); }, "row 0 has column 2; there are 2 columns");
  const Csr unsorted{2, 2, {0, 2, 3}, {1, 0, 1}, {1, 1, 1}};
  expect_thrown<Bad>([&] { make_lu(unsorted); }, "columns must ascend");
  const Csr zero{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 4}};
  expect_thrown<std::domain_error>([&] { make_lu(zero); }, "pivot 0.000000 in row 1");
  const Csr nan{1, 1, {0, 1}, {0}, {std::nan("")}};
  expect_thrown<std::domain_error>([&] { make_lu(nan); }, "in row 0");
  const Csr large{1, 1, {0, 1}, {0}, {1e200}};
  EXPECT_NO_THROW(make_lu(large));
  expect_thrown<std::domain_error>([&] { make_lu(large, {.single_precision = true}); },
                                   "beyond single precision");
  const Csr good{2, 2, {0, 1, 2}, {0, 1}, {1, 2}};
  expect_thrown<Bad>([&] { make_lu(good, {.schedule = "columns"}); },
                     "one of auto, rows, chain, levels");
  expect_thrown<Bad>([&] { make_lu(good, {.modified = -0.1}); }, "it must be from 0 to 1");
  Vector x(3);
  expect_thrown<Bad>([&] { make_lu(good).solve(x, x); }, "the factors have 2 rows");
  const std::span<double> all(x);
  expect_thrown<Bad>([&] { make_lu(good).solve(all.first(2), all.last(2)); }, "overlap");
}

}  // namespace
}  // namespace tailrace::sparse::test
