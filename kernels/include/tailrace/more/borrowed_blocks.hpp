// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// Products and solves with block CSR whose values stay in the caller's memory (blocks of 2 to 16,
// column by column). Where the system allocates memory slowly, copying 15 x 15 blocks costs as much
// as about 30 products. Library tailrace::sparse, which needs OpenMP and no MPI. Nothing here is
// collective. Arguments are not checked. Constructors throw std::bad_alloc.
namespace tailrace::sparse {

/// The structure of a block matrix, without its values.
class BorrowedBlocks {
 public:
  /// `row_starts` counts blocks; `columns` are block columns, below `block_columns`.
  BorrowedBlocks(int block, std::ptrdiff_t block_columns, std::vector<std::int64_t> row_starts,
                 std::vector<std::int32_t> columns);
  std::ptrdiff_t rows() const { return num_block_rows() * block_; }
  std::ptrdiff_t columns() const { return num_block_columns_ * block_; }
  std::ptrdiff_t num_items() const { return row_starts_.back() * block_ * block_; }
  /// y = A x; `values` has num_items() items. Kernels may read beyond a block, so the last block is
  /// copied.
  void multiply(const double* values, const double* x, double* y) const;

 private:
  std::ptrdiff_t num_block_rows() const {
    return static_cast<std::ptrdiff_t>(row_starts_.size()) - 1;
  }
  int block_;
  std::ptrdiff_t num_block_columns_;
  std::vector<std::int64_t> row_starts_;
  std::vector<std::int32_t> columns_;
  std::ptrdiff_t last_row_ = 0;  ///< the last block row with a block
};

/// Factors of a block ILU in one array: L's rows, then U's rows, each followed by the inverse of
/// its diagonal block; `lower` and `upper` give the range of each row, [first, last) in blocks. The
/// block on the diagonal is at `last` of `upper`.
class BorrowedBlockFactors {
 public:
  using Range = std::array<std::int64_t, 2>;
  /// `values` must outlive the object and have `columns.size()` blocks.
  BorrowedBlockFactors(int block, std::vector<Range> lower, std::vector<Range> upper,
                       std::vector<std::int32_t> columns, const double* values);
  /// x = U^-1 L^-1 b; b may be x.
  void solve(const double* b, double* x) const;

 private:
  int block_;
  std::vector<Range> lower_, upper_;
  std::vector<std::int32_t> columns_;
  const double* values_;
  std::int64_t last_;               ///< the last block in memory
  std::vector<double> last_block_;  ///< its copy, with padding
};

/// Factors block rows of A without fill, or with the fill for which `lower` and `upper` have room:
/// `values`, in the layout of `BorrowedBlockFactors`, become L and U, with the diagonal blocks of U
/// inverted. A's row k has blocks [starts[k], starts[k + 1]). Nothing else is checked. Returns
/// false if a diagonal block is singular or not finite, or if the factors have no place for a block
/// of A.
bool factor_blocks(int block, const std::int32_t* starts, const std::int32_t* columns,
                   const double* items, const std::vector<BorrowedBlockFactors::Range>& lower,
                   const std::vector<BorrowedBlockFactors::Range>& upper,
                   const std::int32_t* factor_columns, double* values);

}  // namespace tailrace::sparse
