// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sparse/csr_view.hpp"
#include "sparse/values.hpp"

namespace tailrace::sparse {

/// Sizes of blocks that block CSR has kernels for.
constexpr int smallest_block = 2;
constexpr int largest_block = 16;

/// What the choice of a format goes by.
struct Features {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t columns = 0;
  std::ptrdiff_t num_items = 0;
  double mean_length = 0;       ///< of a row
  double deviation_length = 0;  ///< standard deviation
  std::ptrdiff_t longest_row = 0;
  /// Offsets (column - row) of diagonals with items, ascending; empty if there are too many.
  std::vector<std::int32_t> diagonals;
  bool few_diagonals = false;
  /// Block size with the least traffic, 0 if none divides rows and columns, and its fill:
  /// slots of its blocks per item, from a sample of block rows.
  int block = 0;
  double block_fill = 0;
  /// Bytes per item that columns take in chunks of eight rows (a sample).
  double chunk_column_bytes = 4;
  /// Steps of chunks of eight rows in which some rows have ended, of all steps (a sample).
  double uneven_steps = 0;
  bool fp32_exact = false;  ///< every value converts to single precision and back bit by bit
  Dictionary dictionary;    ///< all values, if there are at most 256 different ones
  bool has_dictionary = false;

  /// Bytes of a value if stored so.
  bool allows(ValueKind kind) const {
    return kind == ValueKind::fp64 || (kind == ValueKind::fp32 ? fp32_exact : has_dictionary);
  }
};

Features find_features(const CsrView& a);

}  // namespace tailrace::sparse
