// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Block systems with a fixed seed that every rank makes as a whole, and their parts by rank.

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "tailrace/more/dist_matrix.hpp"

namespace tailrace::sparse::test {

using Vector = std::vector<double>;

/// All block rows of a square matrix, and a vector of its size.
struct System {
  int block = 1;
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int64_t> columns;
  Vector values;

  std::ptrdiff_t num_rows() const { return std::ssize(row_starts) - 1; }
  std::size_t num_items() const { return static_cast<std::size_t>(num_rows() * block); }
  Vector product(const Vector& x) const {
    Vector y(num_items(), 0.0);
    const auto b = static_cast<std::size_t>(block);
    for (std::size_t row = 0; row + 1 < row_starts.size(); ++row) {
      for (auto k = static_cast<std::size_t>(row_starts[row]);
           k < static_cast<std::size_t>(row_starts[row + 1]); ++k) {
        for (std::size_t i = 0; i < b * b; ++i) {
          y[row * b + i / b] +=
              values[k * b * b + i] * x[static_cast<std::size_t>(columns[k]) * b + i % b];
        }
      }
    }
    return y;
  }
};

inline Vector normals(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Vector values(count);
  for (double& value : values) value = normal(random);
  return values;
}

/// Any block columns in each row, some rows empty.
inline System random_system(int block, int rows, int per_row, unsigned seed) {
  System a{.block = block, .columns = {}, .values = {}};
  std::mt19937_64 random(seed);
  for (int row = 0; row < rows; ++row) {
    std::set<std::int64_t> found;
    for (int i = 0; i < (row % 7 == 3 ? 0 : per_row); ++i) {
      found.insert(static_cast<std::int64_t>(random() % static_cast<unsigned>(rows)));
    }
    a.columns.insert(a.columns.end(), found.begin(), found.end());
    a.row_starts.push_back(std::ssize(a.columns));
  }
  a.values = normals(a.columns.size() * static_cast<std::size_t>(block * block), seed + 1);
  return a;
}

/// Diffusion and transport by `wind` on n x n cells, five points, `block` unknowns a cell, which
/// react with each other; `wind` 0 and `reaction` 0: symmetric, positive definite.
inline System transport(int block, int n, double wind, double reaction) {
  System a{.block = block, .columns = {}, .values = {}};
  const auto add = [&](int column, double value, bool diagonal) {
    a.columns.push_back(column);
    for (int i = 0; i < block; ++i) {
      for (int j = 0; j < block; ++j) {
        const double react = diagonal && j <= i ? reaction / (1 + i + j) : 0;
        a.values.push_back((i == j ? value * (1 + 0.1 * i) : 0.0) + react);
      }
    }
  };
  for (int row = 0; row < n * n; ++row) {
    const int x = row % n;
    const int y = row / n;
    if (y > 0) add(row - n, -1 - wind, false);
    if (x > 0) add(row - 1, -1 - 0.5 * wind, false);
    add(row, 4.01 + 1.5 * wind, true);
    if (x + 1 < n) add(row + 1, -1, false);
    if (y + 1 < n) add(row + n, -1, false);
    a.row_starts.push_back(std::ssize(a.columns));
  }
  return a;
}

/// A system whose blocks off the diagonal are multiples of the identity, with `blocks` on it; in
/// `values` as plain blocks.
struct CoupledSystem : System {
  Vector couplings, blocks;
};

/// Five points on n x n cells, of any numbers, the diagonal the largest.
inline CoupledSystem coupled_system(int block, int n, unsigned seed) {
  CoupledSystem a{transport(block, n, 0.5, 0), {}, {}};
  const auto items = static_cast<std::size_t>(block) * static_cast<std::size_t>(block);
  a.couplings = normals(a.columns.size(), seed);
  a.blocks = normals(static_cast<std::size_t>(n * n) * items, seed + 1);
  std::size_t row = 0;
  for (std::size_t k = 0; k < a.columns.size(); ++k) {
    while (static_cast<std::int64_t>(k) >= a.row_starts[row + 1]) ++row;
    const bool diagonal = a.columns[k] == static_cast<std::int64_t>(row);
    if (diagonal) a.couplings[k] = 6 + block;
    for (std::size_t i = 0; i < items; ++i) {
      const double added = diagonal ? a.blocks[row * items + i] : 0;
      a.values[k * items + i] =
          added + (i % (static_cast<std::size_t>(block) + 1) == 0 ? a.couplings[k] : 0);
    }
  }
  return a;
}

/// The rows of one rank, and where its items are in the whole vector.
struct LocalPart {
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int64_t> columns;
  Vector values;
  std::vector<std::size_t> items;

  Vector of(const Vector& whole) const {
    Vector part;
    for (const auto item : items) part.push_back(whole[item]);
    return part;
  }
};

inline LocalPart part_of_rank(const System& a, const Layout& rows, int rank) {
  LocalPart part;
  const auto b = static_cast<std::size_t>(a.block);
  for (const auto& box : rows.boxes(rank)) {
    for (auto row = box.start[0]; row < box.start[0] + box.extents[0]; ++row) {
      const auto begin = a.row_starts[static_cast<std::size_t>(row)];
      const auto end = a.row_starts[static_cast<std::size_t>(row) + 1];
      part.columns.insert(part.columns.end(), a.columns.begin() + begin, a.columns.begin() + end);
      const auto block = static_cast<std::ptrdiff_t>(b * b);
      part.values.insert(part.values.end(), a.values.begin() + begin * block,
                         a.values.begin() + end * block);
      part.row_starts.push_back(std::ssize(part.columns));
      for (std::size_t i = 0; i < b; ++i) {
        part.items.push_back(static_cast<std::size_t>(row) * b + i);
      }
    }
  }
  return part;
}

/// Couplings and blocks of the rows of `part`.
struct CoupledPart {
  Vector couplings, blocks;
  operator CoupledValues() const { return {couplings, blocks}; }
};

inline CoupledPart coupled_part(const CoupledSystem& a, const LocalPart& part) {
  CoupledPart out;
  const auto b = static_cast<std::size_t>(a.block);
  for (std::size_t i = 0; i < part.items.size(); i += b) {
    const auto row = part.items[i] / b;
    out.couplings.insert(out.couplings.end(), a.couplings.begin() + a.row_starts[row],
                         a.couplings.begin() + a.row_starts[row + 1]);
    const auto first = a.blocks.begin() + static_cast<std::ptrdiff_t>(row * b * b);
    out.blocks.insert(out.blocks.end(), first, first + static_cast<std::ptrdiff_t>(b * b));
  }
  return out;
}

inline Box rows_box(std::ptrdiff_t start, std::ptrdiff_t count) {
  return Box{.num_dims = 1, .start = {start}, .extents = {count}};
}

/// Equal parts; all on the last rank; and interleaved pieces, the later ones first.
inline std::vector<Layout> layouts(std::ptrdiff_t rows, int num_ranks) {
  const std::array extents{rows};
  std::vector<Layout> all{slabs(extents, 0, num_ranks)};
  std::vector<std::vector<Box>> last(static_cast<std::size_t>(num_ranks));
  last.back().push_back(rows_box(0, rows));
  all.push_back(from_boxes(extents, last));
  std::vector<std::vector<Box>> pieces(static_cast<std::size_t>(num_ranks));
  for (std::ptrdiff_t piece = 6; piece-- > 0;) {
    const auto range = split_evenly(rows, 6, piece);
    if (range.count == 0) continue;
    pieces[static_cast<std::size_t>(piece % num_ranks)].push_back(
        rows_box(range.start, range.count));
  }
  all.push_back(from_boxes(extents, pieces));
  return all;
}

}  // namespace tailrace::sparse::test
