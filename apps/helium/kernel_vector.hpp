// SPDX-License-Identifier: BSD-3-Clause
// Vectors of LANES doubles, for the files that are compiled once for each instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#if LANES >= 4
#include <immintrin.h>
#endif

namespace tailrace::helium {

namespace {

typedef double Vector __attribute__((vector_size(LANES * sizeof(double))));

inline Vector load(const double* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

inline void store(double* to, Vector v) { std::memcpy(to, &v, sizeof v); }

/// Stores past the caches, to a multiple of a vector's length; `fence_stores` before others read.
inline void stream(double* to, Vector v) {
#if LANES == 8
  _mm512_stream_pd(to, reinterpret_cast<__m512d>(v));
#elif LANES == 4
  _mm256_stream_pd(to, reinterpret_cast<__m256d>(v));
#else
  store(to, v);
#endif
}

inline void fence_stores() {
#if LANES >= 4
  _mm_sfence();
#endif
}

/// Lanes other than [first, end) become 0.
inline void keep_some(Vector& v, std::ptrdiff_t first, std::ptrdiff_t end) {
#if LANES == 8
  const auto mask = static_cast<__mmask8>((1u << end) - (1u << first));
  v = reinterpret_cast<Vector>(_mm512_maskz_mov_pd(mask, reinterpret_cast<__m512d>(v)));
#else
  for (int lane = 0; lane < LANES; ++lane) {
    if (lane < first || lane >= end) v[lane] = 0;
  }
#endif
}

/// Stores lanes [first, end); the others become 0 in `v`.
inline void store_some(double* to, Vector& v, std::ptrdiff_t first, std::ptrdiff_t end) {
#if LANES == 8
  const auto mask = static_cast<__mmask8>((1u << end) - (1u << first));
  _mm512_mask_storeu_pd(to, mask, reinterpret_cast<__m512d>(v));
#else
  for (auto lane = first; lane < end; ++lane) to[lane] = v[lane];
#endif
  keep_some(v, first, end);
}

/// Those beside a vector that stands on a cache line, along r2, one item and two away.
struct Beside {
  Vector left_2, left, right, right_2;
};

#if LANES == 8  // shuffled, as a load across two lines costs as much as two
inline Beside beside(Vector before, Vector here, Vector after) {
  return {__builtin_shufflevector(before, here, 6, 7, 8, 9, 10, 11, 12, 13),
          __builtin_shufflevector(before, here, 7, 8, 9, 10, 11, 12, 13, 14),
          __builtin_shufflevector(here, after, 1, 2, 3, 4, 5, 6, 7, 8),
          __builtin_shufflevector(here, after, 2, 3, 4, 5, 6, 7, 8, 9)};
}
#endif

inline Beside beside(const double* x) {
#if LANES == 8
  return beside(load(x - 8), load(x), load(x + 8));
#else
  return {load(x - 2), load(x - 1), load(x + 1), load(x + 2)};
#endif
}

/// Loads into a register, whatever it is used for: a compiler may load again for each use.
inline Vector load_once(const double* from) {
  Vector v = load(from);
#if LANES >= 4
  asm("" : "+v"(v));
#endif
  return v;
}

inline Vector all(double value) { return Vector{} + value; }

inline double sum(Vector v) {
  double total = 0;
  for (int lane = 0; lane < LANES; ++lane) total += v[lane];
  return total;
}

}  // namespace

}  // namespace tailrace::helium
