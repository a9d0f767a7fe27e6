// SPDX-License-Identifier: BSD-3-Clause
#include "dense/own_factors.hpp"

#include <omp.h>

#include <algorithm>
#include <numeric>

#include "dense/gemm/gemm.hpp"

namespace tailrace::dense {

template <class T>
bool own_factors_pay(std::ptrdiff_t n) {
  constexpr std::ptrdiff_t most_rows = 4200;
  return n <= most_rows && omp_get_max_threads() == 1 && factor_kernels<T>() != nullptr;
}
template bool own_factors_pay<float>(std::ptrdiff_t n);
template bool own_factors_pay<double>(std::ptrdiff_t n);

template <class T>
bool factor_own(Factors<T>& factors) {
  const auto& kernels = *factor_kernels<T>();
  const auto memory = make_array<T>(static_cast<std::size_t>(kernels.work_items(factors.n)));
  const FactorArguments<T> arguments{factors.values.get(), factors.n, factors.ld, memory.get()};
  if (factors.cholesky()) return kernels.cholesky(arguments);
  if (!kernels.lu(arguments, factors.pivots.data())) return false;
  finish_pivots(factors, kernels.panel);
  return true;
}
template bool factor_own(Factors<float>& factors);
template bool factor_own(Factors<double>& factors);

template <class T>
void finish_pivots(Factors<T>& factors, std::ptrdiff_t panel) {
  const auto n = factors.n;
  std::vector<int> from(static_cast<std::size_t>(n));  // row i is to hold row from[i]
  for (std::ptrdiff_t k = 0; k + panel < n; k += panel) {
    std::iota(from.begin(), from.end(), 0);
    for (auto i = k + panel; i < n; ++i) {
      const auto row = static_cast<std::size_t>(i);
      std::swap(from[row], from[static_cast<std::size_t>(factors.pivots[row])]);
    }
    const auto first = k + panel;
#pragma omp parallel
    {
      std::vector<T> copy(static_cast<std::size_t>(n));
#pragma omp for
      for (std::ptrdiff_t j = k; j < first; ++j) {
        T* const column = factors.values.get() + j * factors.ld;
        std::copy(column + first, column + n, copy.begin() + first);
        for (auto i = first; i < n; ++i) {
          column[i] = copy[static_cast<std::size_t>(from[static_cast<std::size_t>(i)])];
        }
      }
    }
  }
  for (int& pivot : factors.pivots) ++pivot;  // LAPACK counts from 1
}
template void finish_pivots(Factors<float>& factors, std::ptrdiff_t panel);
template void finish_pivots(Factors<double>& factors, std::ptrdiff_t panel);

}  // namespace tailrace::dense
