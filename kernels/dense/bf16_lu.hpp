// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factors.hpp"

namespace tailrace::dense {

/// Whether processor, system and build have AMX tiles of bf16. Asks the system once.
bool bf16_available();

/// LU with row swaps of values in fp32, whose products are those of 1 or 2 bf16 `pieces` of each
/// factor with sums in fp32. Panels are `panel` columns wide (0: chosen from n). False: a pivot
/// that is zero or not finite, or given up.
bool factor_bf16(Factors<float>& factors, int pieces, std::ptrdiff_t panel = 0);

/// A product of panels: c -= l u, column-major, by `pieces`; l is m x k, u is k x n, c is m x n.
struct PanelUpdate {
  std::ptrdiff_t m, n, k;
  const float* l;
  const float* u;
  float* c;
  std::ptrdiff_t ld;  ///< of all three, which are parts of one matrix
  int pieces;
  std::ptrdiff_t l_ld = 0;  ///< of l where it is a matrix of its own
};

/// Memory for packed factors, kept from one product to the next.
struct PackedFactors {
  Array<std::byte> memory;
  std::size_t bytes = 0;

  /// What products of an m x k by a k x n factor need, of two pieces.
  void reserve(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k);
};
/// u and c may be the same.
void update_by_tiles(const PanelUpdate& update, PackedFactors& packed);

}  // namespace tailrace::dense
