// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Products with a fixed seed, compared with three plain loops.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tailrace/more/gemm.hpp"

namespace tailrace::dense::test {

/// A random product whose matrices have rows that belong to nobody, and C in a guarded array.
template <class T>
struct Product {
  std::vector<T> a, b, c, expected;
  Gemm<T> product{};
  static constexpr T guard = T{12345};
  static constexpr std::ptrdiff_t margin = 16;

  Product(std::mt19937& random, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, bool ta,
          bool tb) {
    const auto below = [&](int limit) {
      return std::uniform_int_distribution<std::ptrdiff_t>(0, limit)(random);
    };
    std::uniform_real_distribution<T> value(-1, 1);
    const T factors[] = {T{1}, T{-0.5}, T{2}};
    const T betas[] = {T{0}, T{1}, T{0.25}};
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const auto lda = (ta ? k : m) + below(3), ldb = (tb ? n : k) + below(3), ldc = m + below(3);
    a.assign(static_cast<std::size_t>(lda * (ta ? m : k)), nan);
    b.assign(static_cast<std::size_t>(ldb * (tb ? k : n)), nan);
    c.assign(static_cast<std::size_t>(ldc * n + 2 * margin), guard);
    product = {ta,
               tb,
               m,
               n,
               k,
               factors[below(2)],
               a.data(),
               lda,
               b.data(),
               ldb,
               betas[below(2)],
               c.data() + margin,
               ldc};
    fill(a, ta ? k : m, ta ? m : k, lda, [&] { return value(random); });
    fill(b, tb ? n : k, tb ? k : n, ldb, [&] { return value(random); });
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        c[static_cast<std::size_t>(margin + i + j * ldc)] = product.beta == 0 ? nan : value(random);
      }
    }
    expected = c;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::ptrdiff_t p = 0; p < k; ++p) {
          sum += static_cast<double>(ta ? product.a[p + i * lda] : product.a[i + p * lda]) *
                 static_cast<double>(tb ? product.b[j + p * ldb] : product.b[p + j * ldb]);
        }
        T& out = expected[static_cast<std::size_t>(margin + i + j * ldc)];
        const double old = product.beta == 0 ? 0 : static_cast<double>(product.beta * out);
        out = static_cast<T>(static_cast<double>(product.alpha) * sum + old);
      }
    }
  }

  /// Runs `action` on a fresh C and compares every item of the array that holds it.
  template <class Action>
  void check(const std::string& what, Action action) {
    const auto fresh = c;
    action(product);
    const T bound = std::numeric_limits<T>::epsilon() * 8 * static_cast<T>(product.k + 2);
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (std::abs(c[i] - expected[i]) <= bound) continue;
      ADD_FAILURE() << what << ": m " << product.m << " n " << product.n << " k " << product.k
                    << (product.a_transposed ? " T" : " N") << (product.b_transposed ? "T" : "N")
                    << " alpha " << product.alpha << " beta " << product.beta << ": item " << i
                    << " is " << c[i] << ", expected " << expected[i];
      break;
    }
    c = fresh;
    product.c = c.data() + margin;
  }

 private:
  template <class Value>
  static void fill(std::vector<T>& matrix, std::ptrdiff_t rows, std::ptrdiff_t columns,
                   std::ptrdiff_t ld, Value value) {
    for (std::ptrdiff_t j = 0; j < columns; ++j) {
      for (std::ptrdiff_t i = 0; i < rows; ++i)
        matrix[static_cast<std::size_t>(i + j * ld)] = value();
    }
  }
};

}  // namespace tailrace::dense::test
