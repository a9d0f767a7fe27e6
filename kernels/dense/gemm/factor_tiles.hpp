// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What LU and Cholesky of factor_kernels.hpp are made of: groups of `tile_rows` items side by side
// for each of k, products of two groups, and solves with a triangle.

#include "dense/gemm/kernels.hpp"

namespace tailrace::dense {
namespace {

using Index = std::ptrdiff_t;

constexpr Index packed_from = 96;  // sums of this length read A packed

/// A triangle of `k` rows, packed by rows, and what its diagonal divides by; null: ones.
template <class T>
struct PackedTriangle {
  const T* rows;
  Index k;
  const T* reciprocals;
};

/// sums (N columns of V vectors) -= a b. Column p of a begins at `a + p * step_a`, row p of b at `b
/// + p * tile_rows`.
template <class T, int V, int N>
inline void subtract_products(Vector<T> (&sums)[N][V], Index k, const T*& a, Index step_a,
                              const T*& b) {
  for (Index p = 0; p < k; ++p) {
    Vector<T> column[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) column[v] = load(a + v * lanes<T>);
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      const T item = b[j];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sums[j][v] -= column[v] * item;
    }
    a += step_a;
    b += tile_rows<T>;
  }
}

/// c -= a b for a tile of N columns; meanwhile the same tile of the next group is fetched.
template <class T, int N>
void subtract_tile(Index k, const T* a, Index step_a, const T* b, T* c, Index ldc) {
  constexpr int V = row_vectors;
  Vector<T> sums[N][V] = {};
  const T* next = c + tile_rows<T> * ldc;
  const Index part = k / N;
#pragma GCC unroll 1
  for (int j = 0; j < N; ++j, next += ldc) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) __builtin_prefetch(next + v * lanes<T>, 1);
    subtract_products<T, V, N>(sums, j + 1 < N ? part : k - (N - 1) * part, a, step_a, b);
  }
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      T* const at = c + j * ldc + v * lanes<T>;
      store(at, load(at) + sums[j][v]);
    }
  }
}
template <class T>
using SubtractTile = void (*)(Index, const T*, Index, const T*, T*, Index);
template <class T, int... N>
constexpr std::array<SubtractTile<T>, sizeof...(N)> subtract_of(std::integer_sequence<int, N...>) {
  return {subtract_tile<T, N + 1>...};
}
template <class T>
constexpr auto subtract_tiles = subtract_of<T>(std::make_integer_sequence<int, tile_columns>());

/// `rows` rows of C, fewer than a tile or, if `lower`, none above its diagonal, whose first column
/// is the first of the rows.
template <class T>
void subtract_edge(Index rows, int columns, Index k, const T* a, Index step_a, const T* b, T* c,
                   Index ldc, Index diagonal = -tile_columns) {
  constexpr Index tall = tile_rows<T>;
  alignas(64) T whole[tall * tile_columns] = {};
  subtract_tiles<T>[static_cast<std::size_t>(columns - 1)](k, a, step_a, b, whole, tall);
  for (int j = 0; j < columns; ++j) {
    for (Index i = std::max<Index>(0, diagonal + j); i < rows; ++i) {
      c[j * ldc + i] += whole[j * tall + i];
    }
  }
}

/// A part of C, and what is subtracted from it: `groups` rows of A, the first at `a`, which lie
/// packed or, with `lda`, where they are, times one group of columns of B.
template <class T>
struct Update {
  const T* a;
  Index lda;  ///< 0: packed
  Index rows;
  const T* b;
  Index columns;  ///< at most tile_rows
  Index k;
  T* c;
  Index ldc;
};

template <class T>
void pack_rows(const T* a, Index lda, Index rows, Index k, T* out);

template <class T>
void subtract(const Update<T>& u) {
  constexpr Index tall = tile_rows<T>;
  alignas(64) T last[tall * packed_from];  // rows that a vector would read beyond the end
  for (Index i = 0; i < u.rows; i += tall) {
    const auto rows = std::min(tall, u.rows - i);
    const T* a = u.lda > 0 ? u.a + i : u.a + i * u.k;
    Index step = u.lda > 0 ? u.lda : tall;
    if (u.lda > 0 && rows < tall) {
      pack_rows(a, u.lda, rows, u.k, last);
      a = last;
      step = tall;
    }
    for (Index j = 0; j < u.columns; j += tile_columns) {
      const auto wide = static_cast<int>(std::min<Index>(tile_columns, u.columns - j));
      T* const c = u.c + j * u.ldc + i;
      if (rows == tall) {
        subtract_tiles<T>[static_cast<std::size_t>(wide - 1)](u.k, a, step, u.b + j, c, u.ldc);
      } else {
        subtract_edge(rows, wide, u.k, a, step, u.b + j, c, u.ldc);
      }
    }
  }
}

/// x = x l^-T for a group x of k columns.
template <class T>
void solve_group(T* x, const PackedTriangle<T>& l) {
  constexpr Index tall = tile_rows<T>;
  constexpr int V = row_vectors, N = tile_columns;
  for (Index j = 0; j < l.k; j += N) {
    T* const mine = x + j * tall;
    Vector<T> sums[N][V];
    for (int q = 0; q < N; ++q) {
      for (int v = 0; v < V; ++v) sums[q][v] = load(mine + q * tall + v * lanes<T>);
    }
    const T* before = x;
    const T* row = l.rows + j / tall * tall * l.k + j % tall;
    subtract_products<T, V, N>(sums, j, before, tall, row);
#pragma GCC unroll 8
    for (int p = 0; p < N; ++p) {
      const T reciprocal = l.reciprocals != nullptr ? l.reciprocals[j + p] : T{1};
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        sums[p][v] *= reciprocal;
        store(mine + p * tall + v * lanes<T>, sums[p][v]);
      }
#pragma GCC unroll 8
      for (int q = p + 1; q < N; ++q) {
        const T item = row[p * tall + q];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sums[q][v] -= sums[p][v] * item;
      }
    }
  }
}

/// Rows [0, rows) of k columns in groups; missing rows are 0.
template <class T>
void pack_rows(const T* a, Index lda, Index rows, Index k, T* out) {
  constexpr Index tall = tile_rows<T>;
  for (Index i = 0; i < rows; i += tall, out += tall * k) {
    const auto here = std::min(tall, rows - i);
    const T* from = a + i;
    for (Index p = 0; p < k; ++p, from += lda) {
      T* const to = out + p * tall;
      if (here == tall) {
        for (int v = 0; v < row_vectors; ++v) store(to + v * lanes<T>, load(from + v * lanes<T>));
      } else {
        std::copy_n(from, here, to);
        std::fill_n(to + here, tall - here, T{});
      }
    }
  }
}

/// k rows of at most tile_rows columns as one group, and back.
template <class T>
void pack_columns(const T* a, Index lda, Index columns, Index k, T* out) {
  constexpr Index tall = tile_rows<T>;
  for (Index c = 0; c < tall; ++c) {
    const T* const from = a + c * lda;
    for (Index p = 0; p < k; ++p) out[p * tall + c] = c < columns ? from[p] : T{};
  }
}
template <class T>
void unpack_columns(const T* group, Index lda, Index columns, Index k, T* a) {
  for (Index c = 0; c < columns; ++c) {
    for (Index p = 0; p < k; ++p) a[p + c * lda] = group[p * tile_rows<T> + c];
  }
}

}  // namespace
}  // namespace tailrace::dense
