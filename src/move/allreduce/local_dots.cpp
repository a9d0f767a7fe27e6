// SPDX-License-Identifier: BSD-3-Clause
#include "move/allreduce/local_dots.hpp"

#include <algorithm>

namespace tailrace {

namespace {

/// Items of a block: a few vectors of them fit into the innermost caches.
constexpr std::ptrdiff_t block_items = 1024;

template <class Real>
double dot(const Real* x, const Real* y, std::ptrdiff_t num_items) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t i = 0; i < num_items; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
  return sum;
}

// Complex arrays are pairs of real numbers, as the C++ standard says.
template <class Real>
std::complex<double> dot(const std::complex<Real>* x, const std::complex<Real>* y,
                         std::ptrdiff_t num_items) {
  const auto* a = reinterpret_cast<const Real*>(x);
  const auto* b = reinterpret_cast<const Real*>(y);
  double real = 0, imaginary = 0;
#pragma omp simd reduction(+ : real, imaginary)
  for (std::ptrdiff_t i = 0; i < num_items; ++i) {
    const double a_real = a[2 * i], a_imaginary = a[2 * i + 1];
    const double b_real = b[2 * i], b_imaginary = b[2 * i + 1];
    real += a_real * b_real + a_imaginary * b_imaginary;
    imaginary += a_real * b_imaginary - a_imaginary * b_real;
  }
  return {real, imaginary};
}

template <class T, class Result>
void all_dots(std::span<const DotPair<T>> pairs, Result* results) {
  std::ptrdiff_t longest = 0;
  for (const auto& pair : pairs) longest = std::max(longest, std::ssize(pair.x));
  std::fill_n(results, pairs.size(), Result{});
  for (std::ptrdiff_t at = 0; at < longest; at += block_items) {
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const auto count = std::min(block_items, std::ssize(pairs[k].x) - at);
      if (count > 0) results[k] += dot(pairs[k].x.data() + at, pairs[k].y.data() + at, count);
    }
  }
}

}  // namespace

void local_dots(std::span<const DotPair<float>> pairs, double* results) {
  all_dots(pairs, results);
}
void local_dots(std::span<const DotPair<double>> pairs, double* results) {
  all_dots(pairs, results);
}
void local_dots(std::span<const DotPair<std::complex<float>>> pairs,
                std::complex<double>* results) {
  all_dots(pairs, results);
}
void local_dots(std::span<const DotPair<std::complex<double>>> pairs,
                std::complex<double>* results) {
  all_dots(pairs, results);
}

}  // namespace tailrace
