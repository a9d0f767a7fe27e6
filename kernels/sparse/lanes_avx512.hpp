// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "sparse/kernels.hpp"

namespace tailrace::sparse {
namespace {

struct Lanes {
  static constexpr int width = num_lanes;
  using D = __m512d;
  using I = __m256i;

  static D zero() { return _mm512_setzero_pd(); }
  static D all(double value) { return _mm512_set1_pd(value); }
  static D load(const double* p) { return _mm512_loadu_pd(p); }
  static D load(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  static D load_first(const double* p, int count) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << count) - 1), p);
  }
  static void store(double* p, D d) { _mm512_storeu_pd(p, d); }
  static void store_first(double* p, D d, int count) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << count) - 1), d);
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
  /// From 16 values.
  static D look_up_few(const double* table, const std::uint8_t* p) {
    const auto codes = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    return _mm512_permutex2var_pd(_mm512_loadu_pd(table), codes, _mm512_loadu_pd(table + 8));
  }
  static D gather(const double* x, I index) { return _mm512_i32gather_pd(index, x, 8); }
  static void scatter_first(double* x, I index, D d, int count) {
    _mm512_mask_i32scatter_pd(x, static_cast<__mmask8>((1U << count) - 1), index, d, 8);
  }
  static D spread(unsigned mask, D from) {
    return _mm512_maskz_expand_pd(static_cast<__mmask8>(mask), from);
  }
  static I spread(unsigned mask, I from) {
    return _mm256_maskz_expand_epi32(static_cast<__mmask8>(mask), from);
  }
  static D add(D a, D b) { return _mm512_add_pd(a, b); }
  static D add_where(unsigned mask, D a, D b) {
    return _mm512_mask_add_pd(a, static_cast<__mmask8>(mask), a, b);
  }
  static D multiply(D a, D b) { return _mm512_mul_pd(a, b); }
  /// a + b c, rounded once.
  static D add_product(D a, D b, D c) { return _mm512_fmadd_pd(b, c, a); }
  static double sum(D a) { return _mm512_reduce_add_pd(a); }
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
  static D add_product(D a, D b, D c) { return _mm256_fmadd_pd(b, c, a); }
};

}  // namespace
}  // namespace tailrace::sparse
