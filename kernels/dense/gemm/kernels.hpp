// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The kernels of all instruction sets are made of this text: a file sets `vector_bytes`,
// `row_vectors` and `tile_columns`, is compiled for its instruction set, and includes it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>

#include "dense/gemm/gemm.hpp"

namespace tailrace::dense {
namespace {

template <class T>
constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int tile_rows = row_vectors* lanes<T>;

/// A vector that may lie anywhere.
template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(vector_bytes), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::Type;

template <class T>
Vector<T> load(const T* at) {
  return *reinterpret_cast<const Vector<T>*>(at);
}
template <class T>
void store(T* at, Vector<T> value) {
  *reinterpret_cast<Vector<T>*>(at) = value;
}

/// Where a kernel finds op(B): item (p, j) is `at[p * step_k + j * step_j]`.
template <class T>
struct Operand {
  const T* at;
  std::ptrdiff_t step_k, step_j;
};

/// One tile of C, `V` vectors x `N` columns: c := beta c + alpha sum over k. Column p of A begins
/// at `a + p * step_a`; `step_j` of a packed B is known to the compiler.
template <class T, int V, int N, bool packed_b>
void tile(std::ptrdiff_t k, const T* a, std::ptrdiff_t step_a, Operand<T> b, T alpha, T beta, T* c,
          std::ptrdiff_t ldc) {
  Vector<T> sums[N][V] = {};
  const std::ptrdiff_t step_j = packed_b ? 1 : b.step_j;
  const std::ptrdiff_t step_k = packed_b ? tile_columns : b.step_k;
  const T* row = b.at;
  for (std::ptrdiff_t p = 0; p < k; ++p) {
    Vector<T> column[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) column[v] = load(a + v * lanes<T>);
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      const T item = row[j * step_j];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sums[j][v] += column[v] * item;
    }
    // The rows below, which the next tile reads: too far apart for the processor's own prefetch.
    if constexpr (!packed_b && V == row_vectors) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) __builtin_prefetch(a + (V + v) * lanes<T>);
    }
    a += step_a;
    row += step_k;
  }
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      T* const at = c + j * ldc + v * lanes<T>;
      auto value = sums[j][v] * alpha;
      if (beta != T{}) value += load(at) * beta;
      store(at, value);
    }
  }
}

template <class T>
using Tile = void (*)(std::ptrdiff_t, const T*, std::ptrdiff_t, Operand<T>, T, T, T*,
                      std::ptrdiff_t);

/// Tiles of V vectors by their number of columns, from 1.
template <class T, int V, bool packed_b, int... N>
constexpr std::array<Tile<T>, sizeof...(N)> tiles_of(std::integer_sequence<int, N...>) {
  return {tile<T, V, N + 1, packed_b>...};
}
template <class T, int V, bool packed_b>
constexpr auto tiles = tiles_of<T, V, packed_b>(std::make_integer_sequence<int, tile_columns>());

/// A tile of which only `rows` rows are there: computed beside C, from packed rows of A.
template <class T, bool packed_b>
void ragged_tile(std::ptrdiff_t rows, int columns, std::ptrdiff_t k, const T* a,
                 std::ptrdiff_t step_a, Operand<T> b, T alpha, T beta, T* c, std::ptrdiff_t ldc) {
  alignas(64) T whole[tile_rows<T> * tile_columns];
  const auto vectors = (rows + lanes<T> - 1) / lanes<T>;
  const auto at = static_cast<std::size_t>(columns - 1);
  const auto one = vectors == 1   ? tiles<T, 1, packed_b>[at]
                   : vectors == 2 ? tiles<T, 2, packed_b>[at]
                                  : tiles<T, row_vectors, packed_b>[at];
  one(k, a, step_a, b, alpha, T{}, whole, tile_rows<T>);
  for (int j = 0; j < columns; ++j) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      T& out = c[j * ldc + i];
      out = whole[j * tile_rows<T> + i] + (beta != T{} ? beta * out : T{});
    }
  }
}

/// Memory of a thread that is kept from call to call, aligned to a line.
template <class T>
T* scratch(std::ptrdiff_t items) {
  struct Free {
    void operator()(T* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };
  thread_local std::unique_ptr<T, Free> kept;
  thread_local std::ptrdiff_t kept_items = 0;
  if (items > kept_items) {
    kept.reset();
    kept_items = 0;
    kept.reset(static_cast<T*>(
        ::operator new (static_cast<std::size_t>(items) * sizeof(T), std::align_val_t{64})));
    kept_items = items;
  }
  return kept.get();
}

/// op(A)(i0 .. i0 + rows, p0 .. p0 + k), a tile's rows side by side for each p; missing rows are 0.
template <class T>
void pack_a(const Gemm<T>& g, std::ptrdiff_t i0, std::ptrdiff_t rows, std::ptrdiff_t p0,
            std::ptrdiff_t k, T* out) {
  constexpr std::ptrdiff_t tall = tile_rows<T>;
  for (std::ptrdiff_t i = 0; i < rows; i += tall, out += tall * k) {
    const auto here = std::min(tall, rows - i);
    if (!g.a_transposed) {
      const T* from = g.a + i0 + i + p0 * g.lda;
      for (std::ptrdiff_t p = 0; p < k; ++p, from += g.lda) {
        if (here == tall) {
          for (int v = 0; v < row_vectors; ++v) {
            store(out + p * tall + v * lanes<T>, load(from + v * lanes<T>));
          }
        } else {
          std::copy_n(from, here, out + p * tall);
          std::fill_n(out + p * tall + here, tall - here, T{});
        }
      }
      continue;
    }
    constexpr std::ptrdiff_t few = 16;  // columns at a time, so that what is written stays in cache
    for (std::ptrdiff_t p = 0; p < k; p += few) {
      const auto now = std::min(few, k - p);
      for (std::ptrdiff_t r = 0; r < tall; ++r) {
        const T* const from = g.a + (i0 + i + std::min(r, here - 1)) * g.lda + p0 + p;
        for (std::ptrdiff_t q = 0; q < now; ++q) out[(p + q) * tall + r] = r < here ? from[q] : T{};
      }
    }
  }
}

/// op(B)(p0 .. p0 + k, j0 .. j0 + columns), a tile's columns side by side for each p.
template <class T>
void pack_b(const Gemm<T>& g, std::ptrdiff_t p0, std::ptrdiff_t k, std::ptrdiff_t j0,
            std::ptrdiff_t columns, T* out) {
  const std::ptrdiff_t step_k = g.b_transposed ? g.ldb : 1, step_j = g.b_transposed ? 1 : g.ldb;
  for (std::ptrdiff_t j = 0; j < columns; j += tile_columns, out += tile_columns * k) {
    const auto here = std::min<std::ptrdiff_t>(tile_columns, columns - j);
    for (std::ptrdiff_t q = 0; q < here; ++q) {
      const T* const from = g.b + p0 * step_k + (j0 + j + q) * step_j;
      for (std::ptrdiff_t p = 0; p < k; ++p) out[p * tile_columns + q] = from[p * step_k];
    }
  }
}

template <class T>
void packed(const Gemm<T>& g) {
  constexpr std::ptrdiff_t depth = 256, tall = tile_rows<T>;
  constexpr std::ptrdiff_t most_rows = 8 * tall;  // of A at once: half of a second-level cache
  constexpr std::ptrdiff_t most_columns = 128 * tile_columns;
  const auto rows_at_once = std::min(most_rows, (g.m + tall - 1) / tall * tall);
  const auto columns_at_once =
      std::min(most_columns, (g.n + tile_columns - 1) / tile_columns * tile_columns);
  const auto deep = std::min(depth, g.k);
  T* const a_block = scratch<T>((rows_at_once + columns_at_once) * deep);
  T* const b_block = a_block + rows_at_once * deep;
  for (std::ptrdiff_t j0 = 0; j0 < g.n; j0 += columns_at_once) {
    const auto columns = std::min(columns_at_once, g.n - j0);
    for (std::ptrdiff_t p0 = 0; p0 < g.k; p0 += deep) {
      const auto k = std::min(deep, g.k - p0);
      const T beta = p0 == 0 ? g.beta : T{1};
      pack_b(g, p0, k, j0, columns, b_block);
      for (std::ptrdiff_t i0 = 0; i0 < g.m; i0 += rows_at_once) {
        const auto rows = std::min(rows_at_once, g.m - i0);
        pack_a(g, i0, rows, p0, k, a_block);
        for (std::ptrdiff_t j = 0; j < columns; j += tile_columns) {
          const auto wide = static_cast<int>(std::min<std::ptrdiff_t>(tile_columns, columns - j));
          const Operand<T> b{b_block + j * k, tile_columns, 1};
          const auto whole = tiles<T, row_vectors, true>[static_cast<std::size_t>(wide - 1)];
          for (std::ptrdiff_t i = 0; i < rows; i += tall) {
            T* const c = g.c + (j0 + j) * g.ldc + i0 + i;
            const T* const a = a_block + i * k;
            if (rows - i >= tall) {
              whole(k, a, tall, b, g.alpha, beta, c, g.ldc);
            } else {
              ragged_tile<T, true>(rows - i, wide, k, a, tall, b, g.alpha, beta, c, g.ldc);
            }
          }
        }
      }
    }
  }
}

/// One block of columns of `direct`, rows i0 to i1 of it.
template <class T>
void direct_columns(const Gemm<T>& g, std::ptrdiff_t i0, std::ptrdiff_t i1, std::ptrdiff_t j,
                    std::ptrdiff_t p0, std::ptrdiff_t k, T beta) {
  constexpr std::ptrdiff_t tall = tile_rows<T>;
  const auto wide = static_cast<int>(std::min<std::ptrdiff_t>(tile_columns, g.n - j));
  const std::ptrdiff_t step_k = g.b_transposed ? g.ldb : 1, step_j = g.b_transposed ? 1 : g.ldb;
  const Operand<T> b{g.b + p0 * step_k + j * step_j, step_k, step_j};
  const auto at = static_cast<std::size_t>(wide - 1);
  const T* const a = g.a + p0 * g.lda;
  T* const c = g.c + j * g.ldc;
  std::ptrdiff_t i = i0;
  for (; i + tall <= i1; i += tall) {
    tiles<T, row_vectors, false>[at](k, a + i, g.lda, b, g.alpha, beta, c + i, g.ldc);
  }
  for (; i + lanes<T> <= i1; i += lanes<T>) {
    tiles<T, 1, false>[at](k, a + i, g.lda, b, g.alpha, beta, c + i, g.ldc);
  }
  if (i == i1) return;
  // The last rows are copied, as a vector would read beyond the end of A.
  T* const rows = scratch<T>(lanes<T> * k);
  for (std::ptrdiff_t p = 0; p < k; ++p) {
    std::copy_n(a + i + p * g.lda, i1 - i, rows + p * lanes<T>);
    std::fill_n(rows + p * lanes<T> + (i1 - i), lanes<T> - (i1 - i), T{});
  }
  ragged_tile<T, false>(i1 - i, wide, k, rows, lanes<T>, b, g.alpha, beta, c + i, g.ldc);
}

template <class T>
void direct(const Gemm<T>& g) {
  // Of a tall A a few columns at a time, so that these are read along their length.
  const std::ptrdiff_t depth = g.m > 512 ? 64 : 512;
  // Rows whose part of A stays in the second-level cache from one block of columns to the next.
  constexpr std::ptrdiff_t cached = (512 << 10) / sizeof(T);
  for (std::ptrdiff_t p0 = 0; p0 < g.k; p0 += depth) {
    const auto k = std::min(depth, g.k - p0);
    const T beta = p0 == 0 ? g.beta : T{1};
    const auto rows = std::max<std::ptrdiff_t>(cached / k / tile_rows<T>, 1) * tile_rows<T>;
    for (std::ptrdiff_t i0 = 0; i0 < g.m; i0 += rows) {
      const auto i1 = std::min(i0 + rows, g.m);
      for (std::ptrdiff_t j = 0; j < g.n; j += tile_columns) {
        direct_columns(g, i0, i1, j, p0, k, beta);
      }
    }
  }
}

template <class T>
T sum_of(Vector<T> value) {
  T sum = value[0];
  for (int l = 1; l < lanes<T>; ++l) sum += value[l];
  return sum;
}

/// A block of R x N items of C, each a sum along k.
template <class T, int R, int N>
void inner_block(const Gemm<T>& g, std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t p0,
                 std::ptrdiff_t k, T beta) {
  Vector<T> sums[R][N] = {};
  const T* const a = g.a + i * g.lda + p0;
  const T* const b = g.b + j * g.ldb + p0;
  const auto whole = k / lanes<T> * lanes<T>;
  for (std::ptrdiff_t p = 0; p < whole; p += lanes<T>) {
    Vector<T> left[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) left[r] = load(a + r * g.lda + p);
#pragma GCC unroll 8
    for (int q = 0; q < N; ++q) {
      const auto right = load(b + q * g.ldb + p);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sums[r][q] += left[r] * right;
    }
  }
  for (int q = 0; q < N; ++q) {
    for (int r = 0; r < R; ++r) {
      T sum = sum_of<T>(sums[r][q]);
      for (auto p = whole; p < k; ++p) sum += a[r * g.lda + p] * b[q * g.ldb + p];
      T& out = g.c[i + r + (j + q) * g.ldc];
      out = g.alpha * sum + (beta != T{} ? beta * out : T{});
    }
  }
}

template <class T>
void inner(const Gemm<T>& g) {
  constexpr int high = tile_columns >= 8 ? 6 : 4, wide = tile_columns >= 8 ? 4 : 2;
  constexpr std::ptrdiff_t depth = 4096 / sizeof(T);  // a stretch of all columns stays in cache
  for (std::ptrdiff_t p0 = 0; p0 < g.k; p0 += depth) {
    const auto k = std::min(depth, g.k - p0);
    const T beta = p0 == 0 ? g.beta : T{1};
    for (std::ptrdiff_t j = 0; j < g.n;) {
      const bool several = g.n - j >= wide;
      for (std::ptrdiff_t i = 0; i < g.m;) {
        const bool tall = g.m - i >= high;
        if (several && tall) {
          inner_block<T, high, wide>(g, i, j, p0, k, beta);
        } else if (several) {
          inner_block<T, 1, wide>(g, i, j, p0, k, beta);
        } else if (tall) {
          inner_block<T, high, 1>(g, i, j, p0, k, beta);
        } else {
          inner_block<T, 1, 1>(g, i, j, p0, k, beta);
        }
        i += tall ? high : 1;
      }
      j += several ? wide : 1;
    }
  }
}

template <class T>
constexpr GemmKernels<T> kernels_here{tile_rows<T>, tile_columns, packed<T>, direct<T>, inner<T>};

}  // namespace
}  // namespace tailrace::dense
