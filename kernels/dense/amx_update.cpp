// SPDX-License-Identifier: BSD-3-Clause
// c -= l u by AMX tiles. A number is one bf16 piece, or two (the second is the rounded rest), whose
// products high*high + high*low + low*high keep about 16 bits. A tile of c is 16 of its columns in
// rows of 16 neighbours, so c is used where it lies: the tile product is c^T += u^T l^T. Both
// factors are packed once a panel; l stays in the second-level cache for a block of rows.
// Layout of the packed factors, each [block of 32][step of 32 k][piece][half][16 rows of 64 bytes].
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "dense/bf16_lu.hpp"

namespace tailrace::dense {

namespace {

constexpr std::ptrdiff_t block = 32;  // rows and columns of c in four tiles
constexpr std::ptrdiff_t tile_bytes = 1024;
constexpr std::ptrdiff_t bytes_at_once = 512 << 10;  // of l: stays in the second-level cache

struct alignas(64) Tile {
  std::array<std::uint16_t, 512> items;
};
static_assert(sizeof(Tile) == tile_bytes);

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

struct TilesOn {
  TilesOn() {
    const TileConfig config;
    _tile_loadconfig(&config);
  }
  ~TilesOn() { _tile_release(); }
  TilesOn(const TilesOn&) = delete;
  TilesOn& operator=(const TilesOn&) = delete;
};

__m256i to_bf16(__m512 x) { return std::bit_cast<__m256i>(_mm512_cvtneps_pbh(x)); }

__m512 from_bf16(__m256i x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

/// One row of a tile of l: 16 rows of columns k and k + 1 in pairs.
void pack_pair(__m512 even, __m512 odd, std::uint16_t* tile, int pieces) {
  for (int p = 0; p < pieces; ++p) {
    const __m256i e = to_bf16(even);
    const __m256i o = to_bf16(odd);
    const __m512i pairs =
        _mm512_or_si512(_mm512_cvtepu16_epi32(e), _mm512_slli_epi32(_mm512_cvtepu16_epi32(o), 16));
    _mm512_store_si512(tile + p * 2 * 512, pairs);
    even = _mm512_sub_ps(even, from_bf16(e));
    odd = _mm512_sub_ps(odd, from_bf16(o));
  }
}

__mmask16 first(std::ptrdiff_t items) {
  if (items <= 0) return 0;
  return items >= 16 ? 0xffff : static_cast<__mmask16>((1U << items) - 1);
}

/// Rows [i, i + 32) of l.
void pack_l(const PanelUpdate& update, std::ptrdiff_t i, Tile* to) {
  const auto steps = (update.k + 31) / 32;
  const auto ld = update.l_ld > 0 ? update.l_ld : update.ld;
  for (std::ptrdiff_t s = 0; s < steps; ++s) {
    for (std::ptrdiff_t half = 0; half < 2; ++half) {
      const auto start = i + 16 * half;
      const __mmask16 rows = first(update.m - start);
      auto* tile = to[s * 2 * update.pieces + half].items.data();
      for (std::ptrdiff_t row = 0; row < 16; ++row) {
        const auto k = s * 32 + 2 * row;
        const float* column = update.l + start + k * ld;
        const __m512 even = _mm512_maskz_loadu_ps(k < update.k ? rows : 0, column);
        const __m512 odd = _mm512_maskz_loadu_ps(k + 1 < update.k ? rows : 0, column + ld);
        pack_pair(even, odd, tile + row * 32, update.pieces);
      }
    }
  }
}

/// Columns [j, j + 32) of -u; a row of a tile is 32 neighbours of a column.
void pack_u(const PanelUpdate& update, std::ptrdiff_t j, Tile* to) {
  const auto steps = (update.k + 31) / 32;
  const __m512 zero = _mm512_setzero_ps();
  for (std::ptrdiff_t column = 0; column < block; ++column) {
    for (std::ptrdiff_t s = 0; s < steps; ++s) {
      const float* from = update.u + s * 32 + (j + column) * update.ld;
      const bool inside = j + column < update.n;
      const auto left = inside ? update.k - s * 32 : 0;
      __m512 low = _mm512_sub_ps(zero, _mm512_maskz_loadu_ps(first(left), from));
      __m512 high = _mm512_sub_ps(zero, _mm512_maskz_loadu_ps(first(left - 16), from + 16));
      for (int p = 0; p < update.pieces; ++p) {
        auto* row = to[(s * update.pieces + p) * 2 + column / 16].items.data() + column % 16 * 32;
        const __m256i a = to_bf16(low);
        const __m256i b = to_bf16(high);
        _mm256_store_si256(reinterpret_cast<__m256i*>(row), a);
        _mm256_store_si256(reinterpret_cast<__m256i*>(row + 16), b);
        low = _mm512_sub_ps(low, from_bf16(a));
        high = _mm512_sub_ps(high, from_bf16(b));
      }
    }
  }
}

void multiply_loaded() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

void load_u(const Tile* u) {
  _tile_loadd(4, u, 64);
  _tile_loadd(5, u + 1, 64);
}

void load_l(const Tile* l) {
  _tile_loadd(6, l, 64);
  _tile_loadd(7, l + 1, 64);
}

/// The 32 x 32 items of c at `c`, all of which exist. Those at `next` are fetched meanwhile.
void multiply_block(const Tile* l, const Tile* u, std::ptrdiff_t steps, int pieces, float* c,
                    std::ptrdiff_t ld, const float* next) {
  const auto stride = ld * static_cast<std::ptrdiff_t>(sizeof(float));
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the loads below do not say what they read
  _tile_loadd(0, c, stride);
  _tile_loadd(1, c + 16, stride);
  _tile_loadd(2, c + 16 * ld, stride);
  _tile_loadd(3, c + 16 * ld + 16, stride);
  for (std::ptrdiff_t s = 0; s < steps; ++s, l += 2 * pieces, u += 2 * pieces) {
    for (auto column = s * block / steps; column < (s + 1) * block / steps; ++column) {
      _mm_prefetch(next + column * ld, _MM_HINT_T1);
      _mm_prefetch(next + column * ld + 16, _MM_HINT_T1);
    }
    load_u(u);
    if (pieces == 2) {
      load_l(l + 2);
      multiply_loaded();
    }
    load_l(l);
    multiply_loaded();
    if (pieces == 2) {
      load_u(u + 2);
      multiply_loaded();
    }
  }
  _tile_stored(0, c, stride);
  _tile_stored(1, c + 16, stride);
  _tile_stored(2, c + 16 * ld, stride);
  _tile_stored(3, c + 16 * ld + 16, stride);
}

/// A block at the edge of c: by a copy, whose other items are not stored.
void multiply_edge(const Tile* l, const Tile* u, std::ptrdiff_t steps, const PanelUpdate& update,
                   std::ptrdiff_t i, std::ptrdiff_t j) {
  alignas(64) std::array<float, block * block> copy{};
  const auto rows = std::min(block, update.m - i);
  const auto columns = std::min(block, update.n - j);
  float* c = update.c + i + j * update.ld;
  const auto bytes = static_cast<std::size_t>(rows) * sizeof(float);
  for (std::ptrdiff_t x = 0; x < columns; ++x) {
    std::memcpy(copy.data() + x * block, c + x * update.ld, bytes);
  }
  multiply_block(l, u, steps, update.pieces, copy.data(), block, copy.data());
  for (std::ptrdiff_t x = 0; x < columns; ++x) {
    std::memcpy(c + x * update.ld, copy.data() + x * block, bytes);
  }
}

}  // namespace

void PackedFactors::reserve(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k) {
  const auto tiles = (k + 31) / 32 * 2 * 2;
  const auto blocks = (m + block - 1) / block + (n + block - 1) / block;
  const auto needed = static_cast<std::size_t>(blocks * tiles * tile_bytes);
  if (bytes < needed) *this = {make_array<std::byte>(needed), needed};
}

void update_by_tiles(const PanelUpdate& update, PackedFactors& packed) {
  const auto steps = (update.k + 31) / 32;
  const auto tiles = steps * 2 * update.pieces;  // of a block of 32 rows or columns
  const auto l_blocks = (update.m + block - 1) / block;
  const auto u_blocks = (update.n + block - 1) / block;
  packed.reserve(update.m, update.n, update.k);
  auto* const l = reinterpret_cast<Tile*>(packed.memory.get());
  auto* const u = l + l_blocks * tiles;
  const auto at_once = std::max<std::ptrdiff_t>(8, bytes_at_once / (tiles * tile_bytes));
#pragma omp parallel
  {
    const TilesOn tiles_on;
#pragma omp for nowait
    for (std::ptrdiff_t b = 0; b < l_blocks; ++b) pack_l(update, b * block, l + b * tiles);
#pragma omp for
    for (std::ptrdiff_t b = 0; b < u_blocks; ++b) pack_u(update, b * block, u + b * tiles);
    for (std::ptrdiff_t top = 0; top < l_blocks; top += at_once) {
      const auto end = std::min(l_blocks, top + at_once);
#pragma omp for schedule(dynamic, 4) nowait
      for (std::ptrdiff_t y = 0; y < u_blocks; ++y) {
        for (auto x = top; x < end; ++x) {
          const auto i = x * block;
          const auto j = y * block;
          const Tile* left = l + x * tiles;
          const Tile* right = u + y * tiles;
          if (i + block <= update.m && j + block <= update.n) {
            float* const c = update.c + i + j * update.ld;
            const float* next = x + 1 < end ? c + block : c;
            if (x + 1 == end && y + 1 < u_blocks) {
              next = update.c + top * block + (j + block) * update.ld;
            }
            multiply_block(left, right, steps, update.pieces, c, update.ld, next);
          } else {
            multiply_edge(left, right, steps, update, i, j);
          }
        }
      }
    }
  }
}

}  // namespace tailrace::dense
