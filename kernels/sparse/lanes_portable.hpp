// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "sparse/kernels.hpp"

namespace tailrace::sparse {
namespace {

/// Eight doubles, or eight indices, by plain loops. The same members in lanes_avx2.hpp and
/// lanes_avx512.hpp.
struct Lanes {
  static constexpr int width = num_lanes;
  struct D {
    double v[num_lanes];
  };
  struct I {
    std::int32_t v[num_lanes];
  };

  static D zero() { return all(0.0); }
  static D all(double value) {
    D d;
    for (double& v : d.v) v = value;
    return d;
  }
  static D load(const double* p) {
    D d;
    for (int i = 0; i < num_lanes; ++i) d.v[i] = p[i];
    return d;
  }
  static D load(const float* p) {
    D d;
    for (int i = 0; i < num_lanes; ++i) d.v[i] = static_cast<double>(p[i]);
    return d;
  }
  /// The first `count` items; zero beyond.
  static D load_first(const double* p, int count) {
    D d = zero();
    for (int i = 0; i < count; ++i) d.v[i] = p[i];
    return d;
  }
  static void store(double* p, D d) { store_first(p, d, num_lanes); }
  static void store_first(double* p, D d, int count) {
    for (int i = 0; i < count; ++i) p[i] = d.v[i];
  }
  template <class Index>
  static I indices(const Index* p) {
    I d;
    for (int i = 0; i < num_lanes; ++i) d.v[i] = static_cast<std::int32_t>(p[i]);
    return d;
  }
  static D look_up_few(const double* table, const std::uint8_t* p) {
    return gather(table, indices(p));
  }
  static D gather(const double* x, I index) {
    D d;
    for (int i = 0; i < num_lanes; ++i) d.v[i] = x[index.v[i]];
    return d;
  }
  static void scatter_first(double* x, I index, D d, int count) {
    for (int i = 0; i < count; ++i) x[index.v[i]] = d.v[i];
  }
  /// The first items, in turn, to the lanes of the mask; zero to the others.
  template <class Vector>
  static Vector spread(unsigned mask, Vector from) {
    Vector d{};
    int next = 0;
    for (int i = 0; i < num_lanes; ++i) {
      if ((mask >> i) & 1) d.v[i] = from.v[next++];
    }
    return d;
  }
  static D add(D a, D b) {
    for (int i = 0; i < num_lanes; ++i) a.v[i] += b.v[i];
    return a;
  }
  static D add_where(unsigned mask, D a, D b) {
    for (int i = 0; i < num_lanes; ++i) {
      if ((mask >> i) & 1) a.v[i] += b.v[i];
    }
    return a;
  }
  /// a + b c.
  static D add_product(D a, D b, D c) { return add(a, multiply(b, c)); }
  static D multiply(D a, D b) {
    for (int i = 0; i < num_lanes; ++i) a.v[i] *= b.v[i];
    return a;
  }
  static double sum(D a) {
    return ((a.v[0] + a.v[4]) + (a.v[2] + a.v[6])) + ((a.v[1] + a.v[5]) + (a.v[3] + a.v[7]));
  }
};

/// Blocks of up to four gain nothing from shorter loops.
using HalfLanes = Lanes;

}  // namespace
}  // namespace tailrace::sparse
