// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// LU with row swaps and Cholesky for one thread, made, as the products are, for each instruction
// set: a file includes this after kernels.hpp and sets `panel_columns`. Right-looking by panels; a
// panel is factored by halves (Toledo, SIAM J. Matrix Anal. Appl. 18 (1997) 1065). One packed form
// serves all: groups of `tile_rows` items side by side for each of k. L below the panel is packed
// so by rows and U by columns; a triangular solve is then a product with a small triangle at the
// end of each tile, for U = L^-1 A and for Cholesky's L = A L^-H alike, and its result is already
// packed for the update.
//
// 2/3 n^3 or 1/3 n^3 operations at the speed of the tile; the matrix passes once per panel through
// the caches, n^3 / (3 panel) items each way. What hides that: the columns of a group are swapped,
// solved and updated while they are in the second-level cache, and meanwhile those of the next
// group are fetched there, spread over the sums so that no load waits for them.

#include <cmath>

#include "dense/gemm/factor_tiles.hpp"

namespace tailrace::dense {
namespace {

constexpr Index strip = 8;  // columns of a panel that are factored one by one

/// Exchanges rows of `columns` columns as the first `count` pivots say, eight columns at a time.
template <class T>
void swap_rows(T* a, Index columns, Index ld, const int* pivots, Index count) {
  for (Index j = 0; j < columns; j += 8, a += 8 * ld) {
    const auto here = std::min<Index>(8, columns - j);
    for (Index i = 0; i < count; ++i) {
      T* const x = a + i;
      T* const y = a + pivots[i];
      if (here == 8) {
#pragma GCC unroll 8
        for (Index q = 0; q < 8; ++q) std::swap(x[q * ld], y[q * ld]);
      } else {
        for (Index q = 0; q < here; ++q) std::swap(x[q * ld], y[q * ld]);
      }
    }
  }
}

/// Memory of a factorisation.
template <class T>
struct FactorWork {
  T* triangle;  ///< the panel's, packed
  T* a;         ///< rows below it
  T* b;         ///< a group of columns on its right
};

/// `columns` columns of m rows, the first of a panel or on its right.
template <class T>
struct PanelPart {
  T* a;
  Index m, columns, ld;
};

/// What the factored panel of w columns does to the columns on its right: row swaps, rows of U, and
/// the update below.
template <class T>
void apply_panel(const PanelPart<T>& panel, const int* pivots, T* right, Index columns,
                 const FactorWork<T>& work) {
  constexpr Index tall = tile_rows<T>;
  const auto [a, m, w, ld] = panel;
  const bool is_packed = w >= packed_from;
  pack_rows(a, ld, w, w, work.triangle);
  if (is_packed) pack_rows(a + w, ld, m - w, w, work.a);
  for (Index j = 0; j < columns; j += tall) {
    const auto wide = std::min(tall, columns - j);
    T* const top = right + j * ld;
    swap_rows(top, wide, ld, pivots, w);
    pack_columns(top, ld, wide, w, work.b);
    solve_group(work.b, {work.triangle, w, nullptr});
    unpack_columns(work.b, ld, wide, w, top);
    subtract<T>(
        {is_packed ? work.a : a + w, is_packed ? 0 : ld, m - w, work.b, wide, w, top + w, ld});
  }
}

/// The row of the largest of x[0, rows); `rows` if there is none, as all are NaN.
template <class T>
Index largest_row(const T* x, Index rows) {
  T largest = 0;
#pragma omp simd reduction(max : largest)
  for (Index i = 0; i < rows; ++i) {
    const T size = std::abs(x[i]);
    largest = largest > size ? largest : size;
  }
  return std::find_if(x, x + rows, [&](T item) { return std::abs(item) == largest; }) - x;
}

/// A strip, column by column; false: a pivot that is zero or not finite.
template <class T>
bool factor_strip(const PanelPart<T>& part, int* pivots) {
  const auto [a, m, n, ld] = part;
  for (Index k = 0; k < n; ++k) {
    T* const column = a + k * ld;
    const auto at = k + largest_row(column + k, m - k);
    if (at == m) return false;
    pivots[k] = static_cast<int>(at);
    const T reciprocal = 1 / column[at];
    if (!std::isfinite(reciprocal) || !std::isfinite(column[at])) return false;
    for (Index j = 0; j < n; ++j) std::swap(a[k + j * ld], a[at + j * ld]);
#pragma omp simd
    for (Index i = k + 1; i < m; ++i) column[i] *= reciprocal;
    for (Index j = k + 1; j < n; ++j) {
      T* const to = a + j * ld;
      const T factor = to[k];
#pragma omp simd
      for (Index i = k + 1; i < m; ++i) to[i] -= factor * column[i];
    }
  }
  return true;
}

/// A panel by halves; pivots from 0, relative to its first row.
template <class T>
bool factor_panel(const PanelPart<T>& panel, int* pivots, const FactorWork<T>& work) {
  const auto [a, m, n, ld] = panel;
  if (n <= strip) return factor_strip(panel, pivots);
  const auto left = (n / 2 + strip - 1) / strip * strip;
  if (!factor_panel<T>({a, m, left, ld}, pivots, work)) return false;
  apply_panel<T>({a, m, left, ld}, pivots, a + left * ld, n - left, work);
  const PanelPart<T> rest{a + left * (ld + 1), m - left, n - left, ld};
  if (!factor_panel(rest, pivots + left, work)) return false;
  swap_rows(a + left, left, ld, pivots + left, n - left);
  for (auto i = left; i < n; ++i) pivots[i] += static_cast<int>(left);
  return true;
}

template <class T>
FactorWork<T> parts_of(T* memory) {
  constexpr Index tall = tile_rows<T>;
  T* const b = memory + (panel_columns + tall) * panel_columns;
  return {memory, b + tall * panel_columns, b};
}

template <class T>
Index factor_work_items(Index n) {
  return (panel_columns + n + 3 * tile_rows<T>)*panel_columns;
}

template <class T>
bool factor_lu(const FactorArguments<T>& arguments, int* pivots) {
  const auto [a, n, ld, memory] = arguments;
  const auto work = parts_of(memory);
  for (Index k = 0; k < n; k += panel_columns) {
    const auto w = std::min(panel_columns, n - k);
    const PanelPart<T> panel{a + k * (ld + 1), n - k, w, ld};
    if (!factor_panel(panel, pivots + k, work)) return false;
    if (k + w < n) apply_panel(panel, pivots + k, panel.a + w * ld, n - k - w, work);
    for (auto i = k; i < k + w; ++i) pivots[i] += static_cast<int>(k);
  }
  return true;
}

/// At most a strip's columns; false: not positive definite.
template <class T>
bool cholesky_strip(T* a, Index n, Index ld) {
  for (Index k = 0; k < n; ++k) {
    T* const column = a + k * ld;
    if (!(column[k] > 0) || !std::isfinite(column[k])) return false;
    column[k] = std::sqrt(column[k]);
    const T reciprocal = 1 / column[k];
    for (Index i = k + 1; i < n; ++i) column[i] *= reciprocal;
    for (Index j = k + 1; j < n; ++j) {
      for (Index i = j; i < n; ++i) a[i + j * ld] -= column[i] * column[j];
    }
  }
  return true;
}

/// c -= l l^T, the lower triangle of n rows, for k columns of L, packed.
template <class T>
void subtract_square(const T* packed_l, Index n, Index k, T* c, Index ld) {
  constexpr Index tall = tile_rows<T>;
  for (Index j = 0; j < n; j += tall) {
    const auto wide = std::min(tall, n - j);
    const T* const b = packed_l + j * k;
    T* const corner = c + j * (ld + 1);
    for (Index q = 0; q < wide; q += tile_columns) {  // on the diagonal
      const auto columns = static_cast<int>(std::min<Index>(tile_columns, wide - q));
      subtract_edge(wide, columns, k, b, tall, b + q, corner + q * ld, ld, q);
    }
    if (j + tall < n) subtract<T>({b + tall * k, 0, n - j - tall, b, wide, k, corner + tall, ld});
  }
}

/// The lower triangle, by panels of `panel` columns, whose squares on the diagonal are factored so
/// by smaller ones.
template <class T>
bool factor_square(T* a, Index n, Index ld, Index panel, const FactorWork<T>& work) {
  constexpr Index tall = tile_rows<T>;
  if (n <= strip) return cholesky_strip(a, n, ld);
  alignas(64) T reciprocals[panel_columns];
  for (Index k = 0; k < n; k += panel) {
    const auto w = std::min(panel, n - k);
    const auto rest = n - k - w;
    T* const corner = a + k * (ld + 1);
    if (!factor_square(corner, w, ld, std::max(strip, panel / 4 / strip * strip), work)) {
      return false;
    }
    if (rest == 0) break;
    pack_rows(corner, ld, w, w, work.triangle);
    for (Index i = 0; i < w; ++i) reciprocals[i] = 1 / corner[i * (ld + 1)];
    for (Index i = 0; i < rest; i += tall) {
      const auto rows = std::min(tall, rest - i);
      T* const group = work.a + i * w;
      pack_rows(corner + w + i, ld, rows, w, group);
      solve_group(group, {work.triangle, w, reciprocals});
      for (Index p = 0; p < w; ++p) std::copy_n(group + p * tall, rows, corner + w + i + p * ld);
    }
    subtract_square(work.a, rest, w, corner + w * (ld + 1), ld);
  }
  return true;
}

template <class T>
bool factor_cholesky(const FactorArguments<T>& arguments) {
  const auto [a, n, ld, memory] = arguments;
  return factor_square(a, n, ld, panel_columns, parts_of(memory));
}

template <class T>
constexpr FactorKernels<T> factor_kernels_here{panel_columns, factor_work_items<T>, factor_lu<T>,
                                               factor_cholesky<T>};

}  // namespace
}  // namespace tailrace::dense
