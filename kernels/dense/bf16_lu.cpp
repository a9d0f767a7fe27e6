// SPDX-License-Identifier: BSD-3-Clause
// Right-looking blocked LU, 2/3 n^3 flops, nearly all of them products by tiles of bf16
// (amx_update.cpp): the trailing update, and within a panel, factored by halves (Toledo, SIAM J.
// Matrix Anal. Appl. 18 (1997) 1065), all but its strips of 16 columns. Rows of U are products,
// too, with inverses of diagonal blocks of 64. Storage and sums are fp32; only the trailing update
// may be of one piece. Columns on the left get the row swaps of later panels at the end, at once.
#include "dense/bf16_lu.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dense/own_factors.hpp"
#include "dense/vector_clones.hpp"

namespace tailrace::dense {

namespace {

constexpr std::ptrdiff_t strip = 16;     // columns factored without products
constexpr std::ptrdiff_t diagonal = 64;  // rows of a block that is inverted
constexpr int both = 2;                  // pieces of products that are few

/// Columns [0, n) of m rows.
struct Part {
  float* a;
  std::ptrdiff_t m, n, ld;
  int* pivots;  ///< from 0, relative to the part's first row
  PackedFactors& packed;
};

/// The row of the largest of x[0, rows).
inline std::ptrdiff_t largest_row(const float* x, std::ptrdiff_t rows) {
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    const float size = std::abs(x[i]);
    largest = largest > size ? largest : size;
  }
  return std::find_if(x, x + rows, [&](float item) { return std::abs(item) == largest; }) - x;
}

/// A strip, column by column; false: a pivot that is zero or not finite.
TAILRACE_VECTOR_CLONES bool factor_strip(const Part& part) {
  const auto& [a, m, n, ld, pivots, packed] = part;
  for (std::ptrdiff_t k = 0; k < std::min(m, n); ++k) {
    float* const column = a + k * ld;
    const auto at = k + largest_row(column + k, m - k);
    if (at == m) return false;
    pivots[k] = static_cast<int>(at);
    const float reciprocal = 1 / column[at];
    if (!std::isfinite(reciprocal) || !std::isfinite(column[at])) return false;
    for (std::ptrdiff_t j = 0; j < n; ++j) std::swap(a[k + j * ld], a[at + j * ld]);
#pragma omp simd
    for (std::ptrdiff_t i = k + 1; i < m; ++i) column[i] *= reciprocal;
    for (std::ptrdiff_t j = k + 1; j < n; ++j) {
      float* const to = a + j * ld;
      const float factor = to[k];
#pragma omp simd
      for (std::ptrdiff_t i = k + 1; i < m; ++i) to[i] -= factor * column[i];
    }
  }
  return true;
}

/// Exchanges rows of `columns` columns as the first `count` pivots say.
void swap_rows(float* a, std::ptrdiff_t columns, std::ptrdiff_t ld, const int* pivots,
               std::ptrdiff_t count) {
#pragma omp parallel for if (columns * count > 65536)
  for (std::ptrdiff_t j = 0; j < columns; ++j) {
    float* const column = a + j * ld;
    for (std::ptrdiff_t i = 0; i < count; ++i) std::swap(column[i], column[pivots[i]]);
  }
}

/// x = 1 - L^-1 for the unit lower triangle of k x k in `l`; both full squares, x with `diagonal`
/// rows.
TAILRACE_VECTOR_CLONES void invert(const float* l, std::ptrdiff_t k, std::ptrdiff_t ld, float* x) {
  std::fill_n(x, diagonal * k, 0.0F);
  for (std::ptrdiff_t j = 0; j < k; ++j) {
    float* const column = x + j * diagonal;  // of L^-1 without its 1, negated
    for (std::ptrdiff_t i = j + 1; i < k; ++i) column[i] = l[i + j * ld];
    for (std::ptrdiff_t c = j + 1; c < k; ++c) {
      const float factor = column[c];
#pragma omp simd
      for (std::ptrdiff_t i = c + 1; i < k; ++i) column[i] -= factor * l[i + c * ld];
    }
  }
}

/// b = L^-1 b for the unit lower triangle of `l`, k x k, and n columns of b, by halves.
void solve_lower(const float* l, std::ptrdiff_t k, float* b, std::ptrdiff_t n, std::ptrdiff_t ld,
                 PackedFactors& packed) {
  if (k > diagonal) {
    const auto top = (k / 2 + diagonal - 1) / diagonal * diagonal;
    solve_lower(l, top, b, n, ld, packed);
    update_by_tiles({k - top, n, top, l + top, b, b + top, ld, both}, packed);
    solve_lower(l + top + top * ld, k - top, b + top, n, ld, packed);
    return;
  }
  alignas(64) std::array<float, diagonal * diagonal> x;
  invert(l, k, ld, x.data());
  update_by_tiles({k, n, k, x.data(), b, b, ld, both, diagonal}, packed);  // packs b first
}

bool factor_part(const Part& part) {
  const auto& [a, m, n, ld, pivots, packed] = part;
  if (n <= strip) return factor_strip(part);
  const auto left = (n / 2 + strip - 1) / strip * strip;
  if (!factor_part({a, m, left, ld, pivots, packed})) return false;
  if (left >= m) return true;
  float* const top = a + left * ld;
  swap_rows(top, n - left, ld, pivots, left);
  solve_lower(a, left, top, n - left, ld, packed);
  update_by_tiles({m - left, n - left, left, a + left, top, top + left, ld, both}, packed);
  if (!factor_part({top + left, m - left, n - left, ld, pivots + left, packed})) return false;
  for (auto i = left; i < std::min(m, n); ++i) pivots[i] += static_cast<int>(left);
  for (std::ptrdiff_t j = 0; j < left; ++j) {
    float* const column = a + j * ld;
    for (auto i = left; i < std::min(m, n); ++i) std::swap(column[i], column[pivots[i]]);
  }
  return true;
}

/// The typical size of `strip` pivots from the k-th on.
float pivot_size(const Factors<float>& factors, std::ptrdiff_t k) {
  std::array<float, strip> sizes{};
  for (std::ptrdiff_t i = 0; i < strip; ++i) {
    sizes[static_cast<std::size_t>(i)] =
        std::abs(factors.values[static_cast<std::size_t>((k + i) * (factors.ld + 1))]);
  }
  std::nth_element(sizes.begin(), sizes.begin() + strip / 2, sizes.end());
  return sizes[strip / 2];
}

/// Whether pivots that go on falling as the first `done` of them did end below the least 1 /
/// condition, with room for chance. Few singular values that are tiny are not seen so.
bool falls_too_fast(const Factors<float>& factors, std::ptrdiff_t done) {
  constexpr double room = 3;
  if (factors.least_rcond <= 0 || done < 4 * strip || done > factors.n / 2) return false;
  const double fallen = std::log(pivot_size(factors, done - strip) / pivot_size(factors, 0));
  const double length = static_cast<double>(factors.n) / static_cast<double>(done - strip);
  return fallen * length < std::log(factors.least_rcond / room);
}

}  // namespace

bool factor_bf16(Factors<float>& factors, int pieces, std::ptrdiff_t panel) {
  const auto n = factors.n;
  const auto ld = factors.ld;
  float* const a = factors.values.get();
  int* const pivots = factors.pivots.data();
  if (panel == 0) panel = n >= 3000 ? 256 : 128;
  PackedFactors packed;
  packed.reserve(n, n, std::min(panel, n));
  for (std::ptrdiff_t k = 0; k < n; k += panel) {
    const auto width = std::min(panel, n - k);
    const auto rest = n - k - width;
    float* const corner = a + k + k * ld;
    if (!factor_part({corner, n - k, width, ld, pivots + k, packed})) return false;
    factors.given_up = falls_too_fast(factors, k + width);
    if (factors.given_up) return false;
    if (rest > 0) {
      float* const u = corner + width * ld;
      swap_rows(u, rest, ld, pivots + k, width);
      solve_lower(corner, width, u, rest, ld, packed);
      update_by_tiles({rest, rest, width, corner + width, u, u + width, ld, pieces}, packed);
    }
    for (std::ptrdiff_t i = k; i < k + width; ++i) pivots[i] += static_cast<int>(k);
  }
  finish_pivots(factors, panel);
  return true;
}

}  // namespace tailrace::dense
