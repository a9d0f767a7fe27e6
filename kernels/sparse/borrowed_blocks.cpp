// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/borrowed_blocks.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "sparse/instruction_set.hpp"
#include "sparse/kernels.hpp"
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

const Kernels& kernels() {
  static const Kernels& all = kernels_up_to(MatrixOptions().highest);
  return all;
}

/// Brings items to the second cache, which are needed for the next row.
void ask(const double* first, const double* last) {
  constexpr int line = 8;
  for (; first < last; first += line) __builtin_prefetch(first, 0, 2);
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
  const auto kernel = kernels().block_fused[block_][0];
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
  const auto kernel = kernels().block_fused[block_][0];
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

bool factor_blocks(int block, const std::int32_t* starts, const std::int32_t* columns,
                   const double* items, const std::vector<BorrowedBlockFactors::Range>& lower,
                   const std::vector<BorrowedBlockFactors::Range>& upper,
                   const std::int32_t* factor_columns, double* values) {
  const auto size = static_cast<std::ptrdiff_t>(block) * block;
  const auto subtract = kernels().block_subtract[block];
  const auto invert = kernels().block_invert[block];
  std::vector<double*> place(lower.size(), nullptr);  // of the columns of the present row
  std::vector<double> product(static_cast<std::size_t>(size));
  for (std::size_t row = 0; row < lower.size(); ++row) {
    const auto diagonal = upper[row][1];
    // Without fill all are written below.
    const bool has_fill = lower[row][1] - lower[row][0] + diagonal + 1 - upper[row][0] !=
                          starts[row + 1] - starts[row];
    const auto take = [&](std::int64_t first, std::int64_t last) {
      for (auto k = first; k < last; ++k) {
        place[static_cast<std::size_t>(factor_columns[k])] = values + k * size;
        if (has_fill) std::fill_n(values + k * size, size, 0.0);
      }
    };
    take(lower[row][0], lower[row][1]);
    take(upper[row][0], diagonal + 1);
    for (auto k = starts[row]; k < starts[row + 1]; ++k) {
      double* const to = place[static_cast<std::size_t>(columns[k])];
      if (to == nullptr) return false;
      std::copy_n(items + k * size, size, to);
    }
    if (row + 1 < lower.size()) {
      ask(items + starts[row + 1] * size, items + starts[row + 2] * size);
      ask(values + lower[row + 1][0] * size, values + lower[row + 1][1] * size);
      ask(values + upper[row + 1][0] * size, values + (upper[row + 1][1] + 1) * size);
    }
    for (auto k = lower[row][0]; k < lower[row][1]; ++k) {
      const auto above = static_cast<std::size_t>(factor_columns[k]);
      double* const factor = values + k * size;
      std::fill(product.begin(), product.end(), 0.0);
      subtract(product.data(), factor, values + upper[above][1] * size);
      std::transform(product.begin(), product.end(), factor, std::negate<>());
      for (auto j = upper[above][0]; j < upper[above][1]; ++j) {
        double* const to = place[static_cast<std::size_t>(factor_columns[j])];
        if (to != nullptr) subtract(to, factor, values + j * size);
      }
    }
    const auto forget = [&](std::int64_t first, std::int64_t last) {
      for (auto k = first; k < last; ++k) {
        place[static_cast<std::size_t>(factor_columns[k])] = nullptr;
      }
    };
    forget(lower[row][0], lower[row][1]);
    forget(upper[row][0], diagonal + 1);
    if (!invert(values + diagonal * size)) return false;
  }
  return true;
}

}  // namespace tailrace::sparse
