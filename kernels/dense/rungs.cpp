// SPDX-License-Identifier: BSD-3-Clause
// The table of low-precision factorisations. To add one: a line here, and its value in `Rung`.
#include "dense/bf16_lu.hpp"
#include "dense/factors.hpp"
#include "dense/lapack.hpp"
#include "dense/own_factors.hpp"

namespace tailrace::dense {

namespace {

bool always() { return true; }
bool for_all(std::ptrdiff_t /*n*/) { return true; }

bool factor_bf16x1(Factors<float>& factors) { return factor_bf16(factors, 1); }
bool factor_bf16x2(Factors<float>& factors) { return factor_bf16(factors, 2); }

template <class T>
bool factor_lapack(Factors<T>& factors) {
  const int n = static_cast<int>(factors.n);
  const int ld = static_cast<int>(factors.ld);
  int info = 0;
  if (factors.cholesky()) {
    Lapack<T>::potrf("L", &n, factors.values.get(), &ld, &info, 1);
  } else {
    Lapack<T>::getrf(&n, &n, factors.values.get(), &ld, factors.pivots.data(), &info);
  }
  return info == 0 && pivots_within(factors.pivots, factors.n);
}

/// Factorisations in single precision: the first that pays does it.
template <class T>
struct Fp32Method {
  bool (*pays)(std::ptrdiff_t n);
  bool (*factor)(Factors<T>& factors);
};
template <class T>
constexpr std::array<Fp32Method<T>, 1> fp32_methods{{{for_all, factor_lapack<T>}}};
template <>
constexpr std::array<Fp32Method<float>, 2> fp32_methods<float>{{
    {own_factors_pay<float>, factor_own<float>},
    {for_all, factor_lapack<float>},
}};

constexpr std::array<RungEntry, 3> table{{
    // Limits: refinement contracts by about condition * unit of the factors; the estimates of
    // factors that are wrong stay near their unit, divided by some norm of a random vector.
    {Rung::bf16x1, "bf16x1", false, bf16_available, factor_bf16x1, nullptr, 1e-5, 3e-6, 3e3},
    {Rung::bf16x2, "bf16x2", false, bf16_available, factor_bf16x2, nullptr, 3e-9, 1e-9, 1e8},
    {Rung::fp32, "fp32", true, always, factor_fp32<float>, factor_fp32<std::complex<float>>, 1e-11,
     2e-10, 1e11},
}};

}  // namespace

template <class T>
bool factor_fp32(Factors<T>& factors) {
  for (const auto& method : fp32_methods<T>) {
    if (method.pays(factors.n)) return method.factor(factors);
  }
  return false;
}

template bool factor_fp32(Factors<float>& factors);
template bool factor_fp32(Factors<std::complex<float>>& factors);

std::span<const RungEntry> low_rungs() { return table; }

bool available(Rung rung) {
  for (const auto& entry : table) {
    if (entry.rung == rung) return entry.available();
  }
  return rung == Rung::fp64;
}

const char* name(Rung rung) {
  for (const auto& entry : table) {
    if (entry.rung == rung) return entry.name;
  }
  return "fp64";
}

}  // namespace tailrace::dense
