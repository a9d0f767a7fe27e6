// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What real and complex items have in common. Products are written out: those of std::complex ask
// for NaN first, and are calls.

#include <cmath>
#include <complex>

namespace tailrace::dense {

using Complex = std::complex<double>;

/// The item of a system as factors of low precision store it, and as sums take it.
template <class T>
struct Widths;
template <>
struct Widths<float> {
  using Low = float;
  using Wide = double;
};
template <>
struct Widths<double> {
  using Low = float;
  using Wide = double;
};
template <>
struct Widths<std::complex<float>> {
  using Low = std::complex<float>;
  using Wide = Complex;
};
template <>
struct Widths<Complex> {
  using Low = std::complex<float>;
  using Wide = Complex;
};
template <class T>
using Low = typename Widths<T>::Low;
template <class T>
using Wide = typename Widths<T>::Wide;

inline double widened(float x) { return static_cast<double>(x); }
inline double widened(double x) { return x; }
inline Complex widened(std::complex<float> x) {
  return {static_cast<double>(x.real()), static_cast<double>(x.imag())};
}
inline Complex widened(Complex x) { return x; }

inline float narrowed(double x) { return static_cast<float>(x); }
inline std::complex<float> narrowed(Complex x) {
  return {static_cast<float>(x.real()), static_cast<float>(x.imag())};
}

inline double product(double a, double b) { return a * b; }
inline Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

inline double conjugate(double x) { return x; }
inline Complex conjugate(Complex x) { return {x.real(), -x.imag()}; }

/// Of a Hermitian matrix's diagonal LAPACK reads no imaginary part.
inline double real_part(double x) { return x; }
inline Complex real_part(Complex x) { return {x.real(), 0}; }

/// |x|; without care for items whose square is out of range, which are LAPACK's.
inline double modulus(double x) { return std::abs(x); }
inline double modulus(Complex x) { return std::sqrt(x.real() * x.real() + x.imag() * x.imag()); }
/// |x|, of complex numbers |re| + |im|, as in LAPACK's componentwise errors.
inline double size_of(double x) { return std::abs(x); }
inline double size_of(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }

/// What a product p = a b adds to a bound of a sum's rounding errors.
inline double bound_of(double /*a*/, double /*b*/, double p) { return std::abs(p); }
inline double bound_of(Complex a, Complex b, Complex /*p*/) { return size_of(a) * size_of(b); }

/// |x|^2
inline double square(double x) { return x * x; }
inline double square(Complex x) { return x.real() * x.real() + x.imag() * x.imag(); }

inline bool is_finite(double x) { return std::isfinite(x); }
inline bool is_finite(Complex x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }

}  // namespace tailrace::dense
