// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Matrices of many shapes with a fixed seed, and their products by plain loops.

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tailrace/sparse.hpp"

namespace tailrace::sparse::test {

using Vector = std::vector<double>;
using Random = std::mt19937_64;

struct Named {
  std::string name;
  Csr matrix;
};

/// Rows as sets of columns, with values from a function.
inline Csr from_rows(std::ptrdiff_t columns, const std::vector<std::set<std::int32_t>>& rows,
                     const std::function<double()>& value) {
  Csr a{static_cast<std::ptrdiff_t>(rows.size()), columns, {0}, {}, {}};
  for (const auto& row : rows) {
    for (const auto column : row) {
      a.column_indices.push_back(column);
      a.values.push_back(value());
    }
    a.row_starts.push_back(static_cast<std::int64_t>(a.values.size()));
  }
  return a;
}

/// Rows of `length(row)` columns drawn at random from [low(row), high(row)).
inline Csr random_rows(std::ptrdiff_t rows, std::ptrdiff_t columns, unsigned seed,
                       const std::function<int(int)>& length, int width = 0) {
  Random random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::set<std::int32_t>> found(static_cast<std::size_t>(rows));
  for (int row = 0; row < static_cast<int>(rows); ++row) {
    const int low = width == 0 ? 0 : std::max(0, row - width);
    const int high =
        static_cast<int>(width == 0 ? columns : std::min<std::ptrdiff_t>(columns, row + width + 1));
    std::uniform_int_distribution<int> any(low, high - 1);
    for (int i = 0; i < length(row); ++i) found[static_cast<std::size_t>(row)].insert(any(random));
  }
  return from_rows(columns, found, [&] { return normal(random); });
}

/// Diagonals at these offsets, cut at the edges.
inline Csr diagonals(std::ptrdiff_t rows, std::ptrdiff_t columns, const std::vector<int>& offsets,
                     const std::function<double()>& value) {
  std::vector<std::set<std::int32_t>> found(static_cast<std::size_t>(rows));
  for (int row = 0; row < static_cast<int>(rows); ++row) {
    for (const int offset : offsets) {
      if (row + offset < 0 || row + offset >= columns) continue;
      found[static_cast<std::size_t>(row)].insert(row + offset);
    }
  }
  return from_rows(columns, found, value);
}

/// Dense blocks, `per_row` in each block row, less every `hole`-th item (0: none).
inline Csr blocks(int size, int block_rows, int block_columns, int per_row, int hole,
                  unsigned seed) {
  Random random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> any(0, block_columns - 1);
  std::vector<std::set<std::int32_t>> found(static_cast<std::size_t>(size * block_rows));
  int count = 0;
  for (int row = 0; row < block_rows; ++row) {
    for (int k = 0; k < per_row; ++k) {
      const int column = any(random);
      for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) {
          if (hole != 0 && ++count % hole == 0) continue;
          found[static_cast<std::size_t>(row * size + i)].insert(column * size + j);
        }
      }
    }
  }
  return from_rows(size * block_columns, found, [&] { return normal(random); });
}

inline std::function<double()> normals(unsigned seed) {
  return [random = Random(seed)]() mutable { return std::normal_distribution<double>()(random); };
}
/// Few bits: exact in single precision, but more than 256 different ones.
inline std::function<double()> short_values(unsigned seed) {
  return [random = Random(seed)]() mutable {
    return static_cast<double>(std::uniform_int_distribution<int>(-100000, 100000)(random)) / 64;
  };
}
inline std::function<double()> few_values(unsigned seed) {
  return [random = Random(seed)]() mutable {
    return std::vector<double>{-1.0, 0.1, 6.0, -0.0, 0.0}[random() % 5];
  };
}

inline std::function<double()> forty_values(unsigned seed) {
  return [random = Random(seed)]() mutable { return 0.1 * static_cast<double>(random() % 40); };
}

inline std::vector<Named> matrices() {
  std::vector<Named> all;
  const auto add = [&all](const std::string& name, Csr a) { all.push_back({name, std::move(a)}); };
  add("0 x 0", from_rows(0, {}, normals(1)));
  add("0 x 5", from_rows(5, {}, normals(1)));
  add("5 x 0", from_rows(0, std::vector<std::set<std::int32_t>>(5), normals(1)));
  add("no items", from_rows(9, std::vector<std::set<std::int32_t>>(17), normals(1)));
  add("1 x 1", from_rows(1, {{0}}, normals(1)));
  add("1 column", random_rows(101, 1, 2, [](int row) { return row % 3; }));
  add("1 row", random_rows(1, 1000, 3, [](int) { return 300; }));
  add("wide", random_rows(37, 901, 4, [](int) { return 20; }));
  add("tall", random_rows(2053, 30, 5, [](int row) { return row % 7; }));
  add("empty rows", random_rows(700, 700, 6, [](int row) { return row % 5 == 0 ? 9 : 0; }));
  add("one dense row", random_rows(600, 600, 7, [](int row) { return row == 333 ? 5000 : 3; }));
  add("power law", random_rows(1500, 1500, 8, [](int row) { return 1 + 3000 / (row + 1); }));
  add("short rows", random_rows(3001, 3001, 9, [](int row) { return 1 + row % 3; }));
  add("near the diagonal", random_rows(
                               1111, 1111, 10, [](int) { return 12; }, 40));
  add("within 1000", random_rows(
                         5000, 5000, 11, [](int) { return 8; }, 1000));
  add("far columns", random_rows(50, 400000, 12, [](int) { return 30; }));
  add("band", diagonals(517, 517, {-3, -2, -1, 0, 1, 2, 3}, normals(13)));
  add("band, rectangular", diagonals(300, 611, {0, 1, 5, 300}, normals(14)));
  add("band, tall", diagonals(611, 300, {-311, -10, 0, 7}, normals(15)));
  add("stencil", diagonals(1000, 1000, {-100, -10, -1, 0, 1, 10, 100}, few_values(16)));
  add("forty values", diagonals(700, 700, {-20, -1, 0, 1, 20}, forty_values(18)));
  add("short values", diagonals(800, 800, {-20, -1, 0, 1, 20}, short_values(17)));
  for (int size = 2; size <= 16; ++size) {
    const auto name = "blocks of " + std::to_string(size);
    add(name, blocks(size, 23, 31, 4, 0, static_cast<unsigned>(20 + size)));
    add(name + " with holes", blocks(size, 70, 61, 3, 11, static_cast<unsigned>(40 + size)));
  }
  auto rounded = blocks(5, 40, 40, 5, 0, 60);
  for (double& value : rounded.values) value = static_cast<double>(static_cast<float>(value));
  add("blocks of short values", rounded);
  return all;
}

inline Vector random_vector(std::ptrdiff_t size, unsigned seed) {
  Vector x(static_cast<std::size_t>(size));
  const auto value = normals(seed);
  for (double& item : x) item = value();
  return x;
}

/// One sum a row, in order, every operation rounded.
inline Vector product(const Csr& a, const double* x) {
  Vector y(static_cast<std::size_t>(a.rows), 0.0);
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      y[row] += a.values[at] * x[a.column_indices[at]];
    }
  }
  return y;
}
/// Sums of sizes, which errors are measured by.
inline Vector sizes(const Csr& a, Vector x) {
  Csr positive = a;
  for (double& value : positive.values) value = std::abs(value);
  for (double& item : x) item = std::abs(item);
  return product(positive, x.data());
}

/// NaN is NaN, whatever its bits: which operand's payload is kept is left to the processor.
inline bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
inline bool same_bits(const Vector& a, const Vector& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) return false;
  }
  return true;
}
/// Of storage, where NaN keep their payload, too.
inline bool same_matrix(const Csr& a, const Csr& b) {
  if (a.rows != b.rows || a.columns != b.columns || a.row_starts != b.row_starts ||
      a.column_indices != b.column_indices || a.values.size() != b.values.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(a.values[i]) != std::bit_cast<std::uint64_t>(b.values[i])) {
      return false;
    }
  }
  return true;
}

inline Matrix make(const Csr& a, const MatrixOptions& options) {
  return {a.columns, std::span<const std::int64_t>(a.row_starts),
          std::vector<std::int64_t>(a.column_indices.begin(), a.column_indices.end()), a.values,
          options};
}

}  // namespace tailrace::sparse::test
