// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the drivers of sparse matrices share: entries in turn, in CPU time of the thread.

#include <algorithm>
#include <random>

#include "driver.hpp"
#include "sparse_other.hpp"

namespace bench {

struct SparseRow {
  SparsePeer peer;
  std::vector<double> seconds{};
  std::vector<double> x{}, y{};  ///< given and found
  double error = 0;
};

/// Every entry once without counting, then in turn, each time in another order: what an entry finds
/// in the caches depends on the one before it (measured: up to 1.5 times for the same storage).
inline void measure(int n, int repeats, std::vector<SparseRow>& rows) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = noise(i);
  std::vector<double> y(x.size());
  std::vector<SparseRow*> order;
  for (auto& row : rows) order.push_back(&row);
  std::mt19937 random(1);
  for (int repeat = -1; repeat < repeats; ++repeat) {
    std::shuffle(order.begin(), order.end(), random);
    for (auto* one : order) {
      auto& row = *one;
      const double start = cpu_s(CLOCK_THREAD_CPUTIME_ID);
      row.peer.multiply(x.data(), y.data());
      const double taken = cpu_s(CLOCK_THREAD_CPUTIME_ID) - start;
      if (repeat >= 0) row.seconds.push_back(taken);
      if (repeat < 0) row.y = y;
    }
  }
  for (auto& row : rows) row.x = x;
}

}  // namespace bench
