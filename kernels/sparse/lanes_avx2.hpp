// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "sparse/kernels.hpp"

namespace tailrace::sparse {
namespace {

struct Lanes {
  static constexpr int width = num_lanes;
  struct D {
    __m256d low, high;
  };
  using I = __m256i;

  static D zero() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
  static D all(double value) { return {_mm256_set1_pd(value), _mm256_set1_pd(value)}; }
  static D load(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
  static D load(const float* p) {
    return {_mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p + 4))};
  }
  static D load_first(const double* p, int count) {
    double items[num_lanes] = {};
    for (int i = 0; i < count; ++i) items[i] = p[i];
    return load(items);
  }
  static void store(double* p, D d) {
    _mm256_storeu_pd(p, d.low);
    _mm256_storeu_pd(p + 4, d.high);
  }
  static void store_first(double* p, D d, int count) {
    double items[num_lanes];
    store(items, d);
    for (int i = 0; i < count; ++i) p[i] = items[i];
  }
  static I indices(const std::int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static I indices(const std::uint16_t* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I indices(const std::uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static D look_up_few(const double* table, const std::uint8_t* p) {
    return gather(table, indices(p));
  }
  static D gather(const double* x, I index) {
    return {_mm256_i32gather_pd(x, _mm256_castsi256_si128(index), 8),
            _mm256_i32gather_pd(x, _mm256_extracti128_si256(index, 1), 8)};
  }
  static void scatter_first(double* x, I index, D d, int count) {
    double items[num_lanes];
    std::int32_t at[num_lanes];
    store(items, d);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), index);
    for (int i = 0; i < count; ++i) x[at[i]] = items[i];
  }
  static D spread(unsigned mask, D from) {
    double items[num_lanes];
    double lanes[num_lanes] = {};
    store(items, from);
    int next = 0;
    for (int i = 0; i < num_lanes; ++i) {
      if ((mask >> i) & 1) lanes[i] = items[next++];
    }
    return load(lanes);
  }
  static I spread(unsigned mask, I from) {
    std::int32_t items[num_lanes];
    std::int32_t lanes[num_lanes] = {};
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(items), from);
    int next = 0;
    for (int i = 0; i < num_lanes; ++i) {
      if ((mask >> i) & 1) lanes[i] = items[next++];
    }
    return indices(lanes);
  }
  static D add(D a, D b) { return {_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)}; }
  static D add_where(unsigned mask, D a, D b) {
    const auto bits = _mm256_set1_epi64x(static_cast<long long>(mask));
    const auto low = _mm256_set_epi64x(8, 4, 2, 1);
    const auto high = _mm256_set_epi64x(128, 64, 32, 16);
    const auto on = [bits](__m256i lanes) {
      return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(bits, lanes), lanes));
    };
    return {_mm256_blendv_pd(a.low, _mm256_add_pd(a.low, b.low), on(low)),
            _mm256_blendv_pd(a.high, _mm256_add_pd(a.high, b.high), on(high))};
  }
  /// a + b c.
  static D add_product(D a, D b, D c) { return add(a, multiply(b, c)); }
  static D multiply(D a, D b) {
    return {_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)};
  }
  static double sum(D a) {
    double v[4];
    _mm256_storeu_pd(v, _mm256_add_pd(a.low, a.high));
    return (v[0] + v[2]) + (v[1] + v[3]);
  }
};

/// Four doubles: blocks of up to four.
struct HalfLanes {
  static constexpr int width = 4;
  using D = __m256d;

  static D zero() { return _mm256_setzero_pd(); }
  static D all(double value) { return _mm256_set1_pd(value); }
  static D load(const double* p) { return _mm256_loadu_pd(p); }
  static D load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  static __m256i first(int count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_set_epi64x(3, 2, 1, 0));
  }
  static D load_first(const double* p, int count) { return _mm256_maskload_pd(p, first(count)); }
  static void store(double* p, D d) { _mm256_storeu_pd(p, d); }
  static void store_first(double* p, D d, int count) { _mm256_maskstore_pd(p, first(count), d); }
  static D add(D a, D b) { return _mm256_add_pd(a, b); }
  static D multiply(D a, D b) { return _mm256_mul_pd(a, b); }
  static D add_product(D a, D b, D c) { return add(a, multiply(b, c)); }
};

}  // namespace
}  // namespace tailrace::sparse
