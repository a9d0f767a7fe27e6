// SPDX-License-Identifier: BSD-3-Clause
// Racah algebra: A. R. Edmonds, Angular Momentum in Quantum Mechanics (1957), 6.3.7, 7.1.6
// to 7.1.8.
#include "angular.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tailrace::helium {

namespace {

double log_factorial(int n) { return std::lgamma(n + 1.0); }

bool is_triangle(int a, int b, int c) { return c >= std::abs(a - b) && c <= a + b; }

double sign_of(int power) { return power % 2 == 0 ? 1 : -1; }

/// The logarithm of Delta(abc) of Racah's formula.
double log_delta(int a, int b, int c) {
  return 0.5 * (log_factorial(a + b - c) + log_factorial(a - b + c) + log_factorial(-a + b + c) -
                log_factorial(a + b + c + 1));
}

/// <l || C_k || l'>
double reduced(int l, int k, int other) {
  return sign_of(l) * std::sqrt((2.0 * l + 1) * (2.0 * other + 1)) * wigner_3j_000(l, k, other);
}

}  // namespace

std::vector<Channel> make_channels(int lmax, int big_lmax) {
  std::vector<Channel> channels;
  for (int big_l = 0; big_l <= big_lmax; ++big_l) {
    for (int l1 = 0; l1 <= lmax; ++l1) {
      for (int l2 = 0; l2 <= lmax; ++l2) {
        const bool even = (l1 + l2 + big_l) % 2 == 0;
        if (even && is_triangle(l1, l2, big_l)) channels.push_back({big_l, l1, l2});
      }
    }
  }
  return channels;
}

std::vector<int> mirrors_of(const std::vector<Channel>& channels) {
  std::vector<int> mirrors;
  for (const auto& c : channels) {
    const Channel mirror{c.big_l, c.l2, c.l1};
    const auto found = std::find(channels.begin(), channels.end(), mirror);
    mirrors.push_back(static_cast<int>(found - channels.begin()));
  }
  return mirrors;
}

double wigner_3j_000(int l1, int l2, int l3) {
  const int sum = l1 + l2 + l3;
  if (sum % 2 != 0 || !is_triangle(l1, l2, l3)) return 0;
  const int half = sum / 2;
  const double log_value = log_delta(l1, l2, l3) + log_factorial(half) - log_factorial(half - l1) -
                           log_factorial(half - l2) - log_factorial(half - l3);
  return sign_of(half) * std::exp(log_value);
}

double wigner_6j(int j1, int j2, int j3, int l1, int l2, int l3) {
  if (!is_triangle(j1, j2, j3) || !is_triangle(j1, l2, l3) || !is_triangle(l1, j2, l3) ||
      !is_triangle(l1, l2, j3)) {
    return 0;
  }
  const double log_deltas =
      log_delta(j1, j2, j3) + log_delta(j1, l2, l3) + log_delta(l1, j2, l3) + log_delta(l1, l2, j3);
  const int a = j1 + j2 + j3, b = j1 + l2 + l3, c = l1 + j2 + l3, d = l1 + l2 + j3;
  const int e = j1 + j2 + l1 + l2, f = j2 + j3 + l2 + l3, g = j3 + j1 + l3 + l1;
  double sum = 0;
  for (int t = std::max({a, b, c, d}); t <= std::min({e, f, g}); ++t) {
    const double log_term = log_factorial(t + 1) - log_factorial(t - a) - log_factorial(t - b) -
                            log_factorial(t - c) - log_factorial(t - d) - log_factorial(e - t) -
                            log_factorial(f - t) - log_factorial(g - t);
    sum += sign_of(t) * std::exp(log_term + log_deltas);
  }
  return sum;
}

double repulsion(const Channel& left, const Channel& right, int k) {
  if (left.big_l != right.big_l) return 0;
  return sign_of(right.l1 + left.l2 + left.big_l) *
         wigner_6j(left.l1, left.l2, left.big_l, right.l2, right.l1, k) *
         reduced(left.l1, k, right.l1) * reduced(left.l2, k, right.l2);
}

double cosine(const Channel& left, const Channel& right, int electron) {
  const bool first = electron == 1;
  const int l = first ? left.l1 : left.l2, other_l = first ? right.l1 : right.l2;
  const int still = first ? left.l2 : left.l1;
  if (still != (first ? right.l2 : right.l1)) return 0;
  // Wigner-Eckart in the coupled basis; M = 0 on both sides.
  const int big_l = left.big_l, other = right.big_l;
  const double coupled = std::sqrt((2.0 * big_l + 1) * (2.0 * other + 1)) *
                         wigner_6j(l, big_l, still, other, other_l, 1);
  const int phase = first ? l + still + other + 1 : still + other_l + big_l + 1;
  return sign_of(big_l) * wigner_3j_000(big_l, 1, other) * sign_of(phase) * coupled *
         reduced(l, 1, other_l);
}

}  // namespace tailrace::helium
