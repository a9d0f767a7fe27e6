// SPDX-License-Identifier: BSD-3-Clause
#include "sparse/borrowed_blocks.hpp"

#include <algorithm>
#include <utility>

#include "sparse/instruction_set.hpp"
#include "tailrace/sparse.hpp"

namespace tailrace::sparse {

namespace {

constexpr std::size_t slack = 16;  // items that kernels may read beyond the last

/// A copy of blocks with room behind it.
std::vector<double> padded(const double* values, std::size_t items) {
  std::vector<double> copy(items + slack);
  std::copy_n(values, items, copy.begin());
  return copy;
}

BlockKernel kernel_of(int block) {
  static const Kernels& kernels = kernels_up_to(MatrixOptions().highest);
  return kernels.block[block][0][0];
}

}  // namespace

BorrowedBlocks::BorrowedBlocks(int block, std::ptrdiff_t block_columns,
                               std::vector<std::int64_t> row_starts,
                               std::vector<std::int32_t> columns)
    : block_(block),
      num_block_columns_(block_columns),
      row_starts_(std::move(row_starts)),
      columns_(std::move(columns)),
      last_row_(std::lower_bound(row_starts_.begin(), row_starts_.end(), row_starts_.back()) -
                row_starts_.begin() - 1) {}

void BorrowedBlocks::multiply(const double* values, const double* x, double* y) const {
  if (row_starts_.back() == 0) {
    std::fill_n(y, rows(), 0.0);
    return;
  }
  const auto kernel = kernel_of(block_);
  const BlockArrays arrays{row_starts_.data(), columns_.data(), values};
  const Vectors vectors{x, 0, y, 0, false};
  kernel(arrays, 0, last_row_, vectors);
  const auto first = row_starts_[static_cast<std::size_t>(last_row_)];
  const auto items = static_cast<std::size_t>((row_starts_.back() - first) * block_ * block_);
  const auto copy = padded(values + first * block_ * block_, items);
  const std::array<std::int64_t, 2> all{0, row_starts_.back() - first};
  kernel({all.data(), columns_.data() + first, copy.data()}, 0, 1,
         {x, 0, y + last_row_ * block_, 0, false});
  kernel(arrays, last_row_ + 1, num_block_rows(), vectors);
}

BorrowedBlockFactors::BorrowedBlockFactors(int block, std::vector<Range> lower,
                                           std::vector<Range> upper,
                                           std::vector<std::int32_t> columns, const double* values)
    : block_(block),
      lower_(std::move(lower)),
      upper_(std::move(upper)),
      columns_(std::move(columns)),
      values_(values),
      last_(static_cast<std::int64_t>(columns_.size()) - 1),
      last_block_(padded(values + last_ * block * block, static_cast<std::size_t>(block * block))) {
}

void BorrowedBlockFactors::solve(const double* b, double* x) const {
  const auto kernel = kernel_of(block_);
  alignas(64) std::array<double, 16> sums;
  alignas(64) std::array<double, 16> rest;
  constexpr std::array<std::int64_t, 2> one{0, 1};
  constexpr std::int32_t first_column = 0;
  const auto add_up = [&](const Range& range) {
    // Of the last block in memory only a diagonal is made, which is not in a range.
    kernel({range.data(), columns_.data(), values_}, 0, 1, {x, 0, sums.data(), 0, false});
  };
  for (std::size_t row = 0; row < lower_.size(); ++row) {
    add_up(lower_[row]);
    const auto at = static_cast<std::ptrdiff_t>(row) * block_;
    for (int i = 0; i < block_; ++i) x[at + i] = b[at + i] - sums[static_cast<std::size_t>(i)];
  }
  for (auto row = upper_.size(); row-- > 0;) {
    add_up(upper_[row]);
    const auto at = static_cast<std::ptrdiff_t>(row) * block_;
    for (int i = 0; i < block_; ++i) {
      rest[static_cast<std::size_t>(i)] = x[at + i] - sums[static_cast<std::size_t>(i)];
    }
    const auto diagonal = upper_[row][1];
    const double* inverse =
        diagonal == last_ ? last_block_.data() : values_ + diagonal * block_ * block_;
    kernel({one.data(), &first_column, inverse}, 0, 1, {rest.data(), 0, x + at, 0, false});
  }
}

}  // namespace tailrace::sparse
