// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Kernels of block rows that numbers couple, in terms of the lanes that kernels_of_lanes.hpp is
// included after. Lanes are the rows of a block. Factors are those of coupled_incomplete_lu.hpp.
#include <type_traits>

#include "sparse/kernels.hpp"

namespace tailrace::sparse {
namespace {

/// The items of a block row in lanes, zeros beyond them.
template <int size>
struct BlockItems {
  using L = std::conditional_t<size <= 4, HalfLanes, Lanes>;
  static constexpr int parts = (size + L::width - 1) / L::width;
  static constexpr int padded = parts * L::width;
  typename L::D part[parts];

  static constexpr int count(int p) {
    return size - p * L::width < L::width ? size - p * L::width : L::width;
  }
  static BlockItems load(const double* from) {
    BlockItems items;
    for (int p = 0; p < parts; ++p) {
      items.part[p] = L::load_first(from + p * L::width, count(p));
    }
    return items;
  }
  void store(double* to) const {
    for (int p = 0; p < parts; ++p) L::store_first(to + p * L::width, part[p], count(p));
  }
  /// += factor x, of `size` items.
  void add(double factor, const double* x) {
    const auto all = L::all(factor);
    for (int p = 0; p < parts; ++p) {
      const auto items = L::load_first(x + p * L::width, count(p));
      part[p] = L::add(part[p], L::multiply(all, items));
    }
  }
  /// += block x; the block is in column order, and some items beyond it are read.
  void add_product(const double* block, const double* x) {
    for (int j = 0; j < size; ++j) {
      const auto item = L::all(x[j]);
      for (int p = 0; p < parts; ++p) {
        const auto column = L::load(block + j * size + p * L::width);
        part[p] = L::add(part[p], L::multiply(column, item));
      }
    }
  }
};

template <int size>
void coupled(const CoupledArrays& a, const double* x, double* y) {
  for (std::ptrdiff_t row = 0; row < a.rows; ++row) {
    BlockItems<size> sum{};
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      sum.add(a.couplings[k], x + static_cast<std::ptrdiff_t>(a.columns[k]) * size);
    }
    sum.add_product(a.blocks + row * size * size, x + row * size);
    sum.store(y + row * size);
  }
}

template <int size>
void coupled_solve(const CoupledArrays& a, const double* b, double* x) {
  double rest[size];
  for (std::ptrdiff_t row = 0; row < a.rows; ++row) {
    auto sum = BlockItems<size>::load(b + row * size);
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1] && a.columns[k] < row; ++k) {
      sum.add(-a.couplings[k], x + static_cast<std::ptrdiff_t>(a.columns[k]) * size);
    }
    sum.store(rest);
    BlockItems<size> solved{};
    solved.add_product(a.blocks + row * size * size, rest);
    solved.store(x + row * size);
  }
  for (auto row = a.rows - 1; row >= 0; --row) {
    auto k = a.row_starts[row + 1];
    if (k == a.row_starts[row] || a.columns[k - 1] <= row) continue;
    BlockItems<size> sum{};
    while (k-- > a.row_starts[row] && a.columns[k] > row) {
      sum.add(-a.couplings[k], x + static_cast<std::ptrdiff_t>(a.columns[k]) * size);
    }
    sum.store(rest);
    auto solved = BlockItems<size>::load(x + row * size);
    solved.add_product(a.blocks + row * size * size, rest);
    solved.store(x + row * size);
  }
}

template <int size>
using SquareRows = double[size][BlockItems<size>::padded];

/// The row with the largest item of column k becomes row k. The row that it was.
template <int size>
int bring_pivot(SquareRows<size>& rows, int k) {
  const auto size_of = [](double value) { return value < 0 ? -value : value; };
  int best = k;
  for (int i = k + 1; i < size; ++i) {
    if (size_of(rows[i][k]) > size_of(rows[best][k])) best = i;
  }
  if (best == k) return k;
  for (int j = 0; j < BlockItems<size>::padded; ++j) {
    const double item = rows[k][j];
    rows[k][j] = rows[best][j];
    rows[best][j] = item;
  }
  return best;
}

/// As `invert_block`. Items that are set one by one are read by lanes much later only, as the
/// processor passes no such store on to a wider load.
template <int size>
bool invert_rows(SquareRows<size>& rows) {
  using Items = BlockItems<size>;
  using L = typename Items::L;
  const auto finite = [](double value) { return value - value == 0; };
  int pivots[size];
  for (int k = 0; k < size; ++k) {
    pivots[k] = bring_pivot<size>(rows, k);
    const double pivot = rows[k][k];
    const double inverse = 1 / pivot;
    if (!finite(pivot) || !finite(inverse)) return false;
    typename L::D row[Items::parts];
    for (int p = 0; p < Items::parts; ++p) {
      row[p] = L::multiply(L::load(rows[k] + p * L::width), L::all(inverse));
      L::store(rows[k] + p * L::width, row[p]);
    }
    rows[k][k] = inverse;
    for (int i = 0; i < size; ++i) {
      if (i == k) continue;
      const double factor = rows[i][k];
      for (int p = 0; p < Items::parts; ++p) {
        double* const at = rows[i] + p * L::width;
        L::store(at, L::add(L::load(at), L::multiply(L::all(-factor), row[p])));
      }
      rows[i][k] = -factor * inverse;
    }
  }
  // Rows were exchanged on the left: columns of the inverse change back, the last first.
  for (int k = size; k-- > 0;) {
    for (int i = 0; i < size && pivots[k] != k; ++i) {
      const double item = rows[i][k];
      rows[i][k] = rows[i][pivots[k]];
      rows[i][pivots[k]] = item;
    }
  }
  bool good = true;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) good = good && finite(rows[i][j]);
  }
  return good;
}

/// `count` columns of c -= a b: a is read once for all of them, and their sums do not wait for each
/// other.
template <int size, int count>
void subtract_columns(double* c, const double* a, const double* b) {
  using Items = BlockItems<size>;
  using L = typename Items::L;
  Items sums[count];
  for (int i = 0; i < count; ++i) sums[i] = Items::load(c + i * size);
  for (int k = 0; k < size; ++k) {
    auto column = Items::load(a + k * size);
    for (auto& part : column.part) part = L::multiply(L::all(-1), part);
    for (int i = 0; i < count; ++i) {
      const auto factor = L::all(b[i * size + k]);
      for (int p = 0; p < Items::parts; ++p) {
        sums[i].part[p] = L::add_product(sums[i].part[p], factor, column.part[p]);
      }
    }
  }
  for (int i = 0; i < count; ++i) sums[i].store(c + i * size);
}

template <int size>
void block_subtract(double* c, const double* a, const double* b) {
  constexpr int at_once = 4;
  constexpr int rest = size % at_once;
  for (int j = 0; j < size - rest; j += at_once) {
    subtract_columns<size, at_once>(c + j * size, a, b + j * size);
  }
  constexpr int done = (size - rest) * size;
  if constexpr (rest > 0) subtract_columns<size, rest>(c + done, a, b + done);
}

template <int size>
bool block_invert(double* block) {
  using Items = BlockItems<size>;
  using L = typename Items::L;
  alignas(64) SquareRows<size> rows;  // of the transposed block
  for (int j = 0; j < size; ++j) {
    const auto row = Items::load(block + j * size);
    for (int p = 0; p < Items::parts; ++p) L::store(rows[j] + p * L::width, row.part[p]);
  }
  if (!invert_rows<size>(rows)) return false;
  for (int j = 0; j < size; ++j) Items::load(rows[j]).store(block + j * size);
  return true;
}

template <int size>
std::ptrdiff_t coupled_factor(const CoupledArrays& a, const double* mirrored, double* inverses) {
  using Items = BlockItems<size>;
  using L = typename Items::L;
  alignas(64) SquareRows<size> rows;  // of the transposed block
  for (std::ptrdiff_t row = 0; row < a.rows; ++row) {
    double diagonal = 0;
    Items sums[size];
    for (int j = 0; j < size; ++j) sums[j] = Items::load(a.blocks + (row * size + j) * size);
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1] && a.columns[k] <= row; ++k) {
      if (a.columns[k] == row) {
        diagonal = a.couplings[k];
      } else if (const double product = a.couplings[k] * mirrored[k]; product != 0) {
        const double* above = inverses + static_cast<std::ptrdiff_t>(a.columns[k]) * size * size;
        for (int j = 0; j < size; ++j) sums[j].add(-product, above + j * size);
      }
    }
    for (int j = 0; j < size; ++j) {
      for (int p = 0; p < Items::parts; ++p) L::store(rows[j] + p * L::width, sums[j].part[p]);
      rows[j][j] += diagonal;
    }
    if (!invert_rows<size>(rows)) return row;
    for (int j = 0; j < size; ++j) Items::load(rows[j]).store(inverses + (row * size + j) * size);
  }
  return a.rows;
}

template <int size>
constexpr void set_coupled(Kernels& kernels) {
  kernels.coupled[size] = coupled<size>;
  kernels.coupled_solve[size] = coupled_solve<size>;
  kernels.coupled_factor[size] = coupled_factor<size>;
  kernels.block_subtract[size] = block_subtract<size>;
  kernels.block_invert[size] = block_invert<size>;
  if constexpr (size < 16) set_coupled<size + 1>(kernels);
}

}  // namespace
}  // namespace tailrace::sparse
