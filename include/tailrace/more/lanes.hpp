// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// Panels: `lanes` lines of an array side by side, so that one SIMD instruction advances all of them
// by the same step. A real panel of n points is [n][lanes]; a complex one is [n][2][lanes], the
// real parts of a point before its imaginary parts.
//
// Their width depends on the processor for which a file is compiled. Names that depend on it are in
// an inline namespace that contains the width, so a program compiled for another width than the
// library fails to link instead of computing wrong results.
#if defined(__AVX512F__)
#define TAILRACE_LANES_NAMESPACE lanes_of_64_bytes
#elif defined(__AVX__)
#define TAILRACE_LANES_NAMESPACE lanes_of_32_bytes
#else
#define TAILRACE_LANES_NAMESPACE lanes_of_16_bytes
#endif

namespace tailrace::fft {
inline namespace TAILRACE_LANES_NAMESPACE {

#if defined(__AVX512F__)
inline constexpr std::size_t simd_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t simd_bytes = 32;
#else
inline constexpr std::size_t simd_bytes = 16;
#endif

template <class Real>
inline constexpr std::ptrdiff_t lanes = simd_bytes / sizeof(Real);

/// Items of one point of a complex panel.
template <class Real>
inline constexpr std::ptrdiff_t unit = 2 * lanes<Real>;

namespace detail {
template <class Real>
struct VectorOf {
  typedef Real type __attribute__((vector_size(simd_bytes)));
  using Bits = std::conditional_t<sizeof(Real) == 8, long long, int>;
  typedef Bits mask __attribute__((vector_size(simd_bytes)));
};
}  // namespace detail

/// A SIMD register of `lanes<Real>` items.
template <class Real>
using Vector = typename detail::VectorOf<Real>::type;

template <class Real>
inline Vector<Real> load(const Real* address) {
  Vector<Real> v;
  __builtin_memcpy(&v, address, sizeof v);
  return v;
}

template <class Real>
inline void store(Real* address, Vector<Real> v) {
  __builtin_memcpy(address, &v, sizeof v);
}

/// Writes a register past the caches if the address is a multiple of its size, otherwise like
/// `store`: for memory that is not read again soon. Cache lines that are written completely are not
/// read first. Other threads and ranks may see the data late: call `fence_stores` before you notify
/// them.
template <class Real>
inline void store_past_caches(Real* address, Vector<Real> v) {
  if (reinterpret_cast<std::uintptr_t>(address) % sizeof v != 0) return store(address, v);
#if defined(__clang__)
  __builtin_nontemporal_store(v, reinterpret_cast<Vector<Real>*>(address));
#elif defined(__SSE2__)
  typedef long long Bits __attribute__((vector_size(simd_bytes)));
  const auto bits = (Bits)v;
#if defined(__AVX512F__)
  __builtin_ia32_movntdq512(reinterpret_cast<Bits*>(address), bits);
#elif defined(__AVX__)
  __builtin_ia32_movntdq256(reinterpret_cast<Bits*>(address), bits);
#else
  __builtin_ia32_movntdq(reinterpret_cast<Bits*>(address), bits);
#endif
#else
  store(address, v);
#endif
}

/// Makes this thread's stores past the caches visible before its later stores.
inline void fence_stores() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

template <class Real>
inline Vector<Real> splat(Real value) {
  return Vector<Real>{} + value;
}

namespace detail {

// Lane l of the result is lane first(l) of {a, b} laid end to end.
template <class Real, std::size_t... Lane, class Pick>
constexpr typename VectorOf<Real>::mask make_mask(std::index_sequence<Lane...>, Pick pick) {
  using Bits = typename VectorOf<Real>::Bits;
  return typename VectorOf<Real>::mask{static_cast<Bits>(pick(static_cast<int>(Lane)))...};
}

template <class Real, int Step>
inline void exchange_pair(Vector<Real>& a, Vector<Real>& b) {
  constexpr int n = static_cast<int>(lanes<Real>);
  using Lanes = std::make_index_sequence<static_cast<std::size_t>(n)>;
  constexpr auto low = make_mask<Real>(
      Lanes{}, [](int lane) { return (lane & Step) != 0 ? n + lane - Step : lane; });
  constexpr auto high = make_mask<Real>(
      Lanes{}, [](int lane) { return (lane & Step) != 0 ? n + lane : lane + Step; });
  const Vector<Real> first = __builtin_shuffle(a, b, low);
  const Vector<Real> second = __builtin_shuffle(a, b, high);
  a = first;
  b = second;
}

template <class Real, int Step>
inline void transpose_from(Vector<Real>* rows) {
  constexpr int n = static_cast<int>(lanes<Real>);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    if ((i & Step) == 0) exchange_pair<Real, Step>(rows[i], rows[i + Step]);
  }
  if constexpr (2 * Step < n) transpose_from<Real, 2 * Step>(rows);
}

}  // namespace detail

/// Transposes the lanes x lanes square in `rows`.
template <class Real>
inline void transpose(Vector<Real>* rows) {
  if constexpr (lanes < Real >> 1) detail::transpose_from<Real, 1>(rows);
}

/// Loads `lanes` interleaved complex numbers into a real and an imaginary register.
template <class Real>
inline void load_interleaved(const Real* address, Vector<Real>& re, Vector<Real>& im) {
  constexpr int n = static_cast<int>(lanes<Real>);
  using Lanes = std::make_index_sequence<static_cast<std::size_t>(n)>;
  constexpr auto even = detail::make_mask<Real>(Lanes{}, [](int lane) { return 2 * lane; });
  constexpr auto odd = detail::make_mask<Real>(Lanes{}, [](int lane) { return 2 * lane + 1; });
  const Vector<Real> a = load(address);
  const Vector<Real> b = load(address + n);
  re = __builtin_shuffle(a, b, even);
  im = __builtin_shuffle(a, b, odd);
}

template <class Real>
inline void store_interleaved(Real* address, Vector<Real> re, Vector<Real> im) {
  constexpr int n = static_cast<int>(lanes<Real>);
  using Lanes = std::make_index_sequence<static_cast<std::size_t>(n)>;
  constexpr auto low = detail::make_mask<Real>(
      Lanes{}, [](int lane) { return (lane & 1) != 0 ? n + lane / 2 : lane / 2; });
  constexpr auto high = detail::make_mask<Real>(
      Lanes{}, [](int lane) { return (lane & 1) != 0 ? n + n / 2 + lane / 2 : n / 2 + lane / 2; });
  store(address, __builtin_shuffle(re, im, low));
  store(address + n, __builtin_shuffle(re, im, high));
}

/// Loads only the first `count` (1 ... lanes) interleaved complex numbers; missing lanes read as
/// zero.
template <class Real>
inline void load_interleaved(const Real* address, std::ptrdiff_t count, Vector<Real>& re,
                             Vector<Real>& im) {
  if (count >= lanes<Real>) return load_interleaved(address, re, im);
  Real buffer[2 * lanes<Real>] = {};
  __builtin_memcpy(buffer, address, static_cast<std::size_t>(2 * count) * sizeof(Real));
  load_interleaved(buffer, re, im);
}

template <class Real>
inline void store_interleaved(Real* address, std::ptrdiff_t count, Vector<Real> re,
                              Vector<Real> im) {
  if (count >= lanes<Real>) return store_interleaved(address, re, im);
  Real buffer[2 * lanes<Real>];
  store_interleaved(buffer, re, im);
  __builtin_memcpy(address, buffer, static_cast<std::size_t>(2 * count) * sizeof(Real));
}

/// `rows` (at most lanes) rows of nx real items, `stride` items apart -> panel [nx][lanes]; lanes
/// without a row become zero. `between()` is called for each square of lanes x lanes items.
template <class Real, class Between>
void load_rows(const Real* field, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t nx,
               Real* panel, Between&& between) {
  constexpr auto w = lanes<Real>;
  if (rows < w) __builtin_memset(panel, 0, static_cast<std::size_t>(nx * w) * sizeof(Real));
  std::ptrdiff_t x0 = 0;
  for (; rows == w && x0 + w <= nx; x0 += w) {
    Vector<Real> square[w];
    for (std::ptrdiff_t i = 0; i < w; ++i) square[i] = load(field + i * stride + x0);
    between();
    transpose<Real>(square);
    for (std::ptrdiff_t i = 0; i < w; ++i) store(panel + (x0 + i) * w, square[i]);
  }
  for (; x0 < nx; ++x0) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) panel[x0 * w + i] = field[i * stride + x0];
  }
}

template <class Real>
void load_rows(const Real* field, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t nx,
               Real* panel) {
  load_rows(field, stride, rows, nx, panel, [] {});
}

/// The inverse of `load_rows`, for the first `rows` lanes; `put` is `store` or `store_past_caches`.
template <class Real, void (*put)(Real*, Vector<Real>) = store<Real>>
void store_rows(const Real* panel, std::ptrdiff_t rows, std::ptrdiff_t nx, Real* field,
                std::ptrdiff_t stride) {
  constexpr auto w = lanes<Real>;
  std::ptrdiff_t x0 = 0;
  for (; rows == w && x0 + w <= nx; x0 += w) {
    Vector<Real> square[w];
    for (std::ptrdiff_t i = 0; i < w; ++i) square[i] = load(panel + (x0 + i) * w);
    transpose<Real>(square);
    for (std::ptrdiff_t i = 0; i < w; ++i) put(field + i * stride + x0, square[i]);
  }
  for (; x0 < nx; ++x0) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) field[i * stride + x0] = panel[x0 * w + i];
  }
}

}  // namespace TAILRACE_LANES_NAMESPACE
}  // namespace tailrace::fft
