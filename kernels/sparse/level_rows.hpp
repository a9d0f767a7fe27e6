// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sparse/column_offsets.hpp"
#include "sparse/kernels.hpp"
#include "sparse/values.hpp"
#include "tailrace/sparse.hpp"

namespace tailrace::sparse {

/// Rows by level (level scheduling: Saltz, SIAM J. Sci. Stat. Comput. 11 (1990) 123): a row waits
/// for rows of lower levels only when L is solved, and of higher levels only when U is, so levels
/// are those of the structure and its transpose together. Each level begins a new chunk of eight
/// slots; what is left of its last chunk is unused.
struct LevelOrder {
  std::ptrdiff_t num_levels = 0;
  std::vector<std::int32_t> row_of_slot;  ///< eight a chunk; unused slots repeat the chunk's first
  std::vector<std::int32_t> slot_of_row;
  std::vector<std::uint8_t> counts;  ///< rows of each chunk

  std::size_t num_chunks() const { return counts.size(); }
};
LevelOrder order_by_levels(const Csr& factors);

/// Which part of the factors, and so in which direction: L forward, U backward.
enum class Triangle { lower, upper };

/// One triangle in the form of SELL without padding (sell.cpp), in the order of levels, forward or
/// backward. Vectors in between are numbered by slots, so that neighbours in a level, whose items
/// are neighbours in other levels, read and write side by side. Values are negated: kernels only
/// add.
class LevelRows {
 public:
  LevelRows(const Csr& factors, const std::vector<std::int64_t>& diagonal, const LevelOrder& order,
            Triangle triangle, ValueKind values, const Kernels& kernels);
  /// Forward: `work` (a slot each) from b. Backward: `work` and x from `work`.
  void solve(const LevelOrder& order, const double* b, double* work, double* x) const;
  std::size_t memory_bytes() const;

 private:
  void place_items(const Csr& factors, const std::vector<std::int64_t>& places,
                   const std::vector<std::uint8_t>& group_sizes, const LevelOrder& order);

  const Kernels* kernels_;
  bool backward_;
  std::vector<std::int32_t> full_, longest_;  ///< by chunk, in the order of the solve
  std::vector<std::uint8_t> masks_;
  std::vector<std::int32_t> bases_;
  ColumnOffsets columns_;
  Values values_;
  Aligned<double> inverse_;  ///< of the diagonal, by slot
};

}  // namespace tailrace::sparse
