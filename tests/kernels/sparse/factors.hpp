// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What tests of incomplete factors share.

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "sparse/matrices.hpp"
#include "tailrace/more/incomplete_lu.hpp"

namespace tailrace::sparse::test {

inline IncompleteLu make_lu(const Csr& a, const IncompleteLuOptions& options = {}) {
  return {std::span<const std::int64_t>(a.row_starts),
          std::vector<std::int64_t>(a.column_indices.begin(), a.column_indices.end()), a.values,
          options};
}

inline double at(const Csr& a, std::int32_t row, std::int32_t column) {
  const auto begin = a.column_indices.begin() + a.row_starts[static_cast<std::size_t>(row)];
  const auto end = a.column_indices.begin() + a.row_starts[static_cast<std::size_t>(row) + 1];
  const auto found = std::lower_bound(begin, end, column);
  if (found == end || *found != column) return 0;
  return a.values[static_cast<std::size_t>(found - a.column_indices.begin())];
}

/// -1, 4, -1 on the five-point neighbours of n x n points.
inline Csr laplacian(int n) {
  std::vector<std::set<std::int32_t>> rows;
  for (int i = 0; i < n * n; ++i) {
    rows.push_back({i});
    if (i >= n) rows.back().insert(i - n);
    if (i % n > 0) rows.back().insert(i - 1);
    if (i % n < n - 1) rows.back().insert(i + 1);
    if (i + n < n * n) rows.back().insert(i + n);
  }
  auto a = from_rows(n * n, rows, [] { return -1.0; });
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const auto item = static_cast<std::size_t>(k);
      if (a.column_indices[item] == static_cast<int>(row)) a.values[item] = 4;
    }
  }
  return a;
}

/// Steps of conjugate gradients until the residual has fallen by 1e-10.
inline int steps_of_cg(const Csr& a,
                       const std::function<void(const Vector&, Vector&)>& precondition) {
  const Matrix matrix = make(a, {});
  const auto dot = [](const Vector& u, const Vector& v) {
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
  };
  auto r = random_vector(a.rows, 94);
  Vector z(r.size());
  Vector q(r.size());
  precondition(r, z);
  auto p = z;
  const double goal = 1e-20 * dot(r, r);
  double rz = dot(r, z);
  int steps = 0;
  for (; dot(r, r) > goal && steps < 1000; ++steps) {
    matrix.multiply(p, q);
    const double alpha = rz / dot(p, q);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] -= alpha * q[i];
    precondition(r, z);
    const double next = dot(r, z);
    for (std::size_t i = 0; i < r.size(); ++i) p[i] = z[i] + next / rz * p[i];
    rz = next;
  }
  return steps;
}

template <class Error, class Action>
void expect_thrown(Action action, const std::string& text) {
  try {
    action();
    FAIL() << "not refused: " << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace tailrace::sparse::test
