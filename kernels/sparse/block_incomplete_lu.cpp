// SPDX-License-Identifier: BSD-3-Clause
// Saad, Iterative Methods for Sparse Linear Systems (2003), algorithm 10.4, with blocks for items.
// A solve goes from block row to block row; within one, lanes are the rows of the blocks, by the
// kernel that multiplies with block CSR. It reads each factor once: 8 bytes an item (4 in single
// precision), one column index a block. A row waits for the one before it, but a block of 15 x 15
// gives the processor enough to do meanwhile.
#include "tailrace/more/block_incomplete_lu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "sparse/check.hpp"
#include "sparse/instruction_set.hpp"
#include "sparse/values.hpp"

namespace tailrace::sparse {

namespace {

/// One triangle without its diagonal, or the diagonal: blocks in column order.
struct Part {
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int32_t> columns;
  Values values{ValueKind::fp64, 0, {}};

  BlockArrays arrays() const { return {row_starts.data(), columns.data(), values.data()}; }
  std::size_t bytes() const { return values.bytes() + 4 * columns.size() + 8 * row_starts.size(); }
};

}  // namespace

class BlockIncompleteLu::State {
 public:
  State(int block, std::span<const std::int64_t> row_starts, std::span<const std::int32_t> columns,
        const BlockIncompleteLuOptions& options)
      : block_(block),
        items_(static_cast<std::size_t>(block) * static_cast<std::size_t>(block)),
        kind_(options.single_precision ? ValueKind::fp32 : ValueKind::fp64),
        kernels_(kernels_up_to(options.highest)),
        row_starts_(row_starts.begin(), row_starts.end()),
        columns_(columns.begin(), columns.end()) {
    const auto rows = static_cast<std::size_t>(this->rows());
    for (std::size_t row = 0; row < rows; ++row) {
      const auto begin = columns_.begin() + row_starts_[row];
      const auto end = columns_.begin() + row_starts_[row + 1];
      const auto found = std::lower_bound(begin, end, static_cast<std::int32_t>(row));
      if (found == end || *found != static_cast<std::int32_t>(row)) {
        refuse("block row " + std::to_string(row) +
               " has no block on the diagonal; ILU(0) needs one in each row");
      }
      diagonal_.push_back(found - columns_.begin());
      lower_.columns.insert(lower_.columns.end(), begin, found);
      lower_.row_starts.push_back(static_cast<std::int64_t>(lower_.columns.size()));
    }
    for (auto row = rows; row-- > 0;) {
      const auto first = columns_.begin() + diagonal_[row] + 1;
      upper_.columns.insert(upper_.columns.end(), first, columns_.begin() + row_starts_[row + 1]);
      inverse_.columns.push_back(0);
      upper_.row_starts.push_back(static_cast<std::int64_t>(upper_.columns.size()));
      inverse_.row_starts.push_back(static_cast<std::int64_t>(inverse_.columns.size()));
    }
    lower_.values = Values(kind_, lower_.columns.size() * items_, {});
    upper_.values = Values(kind_, upper_.columns.size() * items_, {});
    inverse_.values = Values(ValueKind::fp64, rows * items_, {});
  }

  int block() const { return block_; }
  std::ptrdiff_t rows() const { return static_cast<std::ptrdiff_t>(row_starts_.size()) - 1; }
  std::size_t num_values() const { return columns_.size() * items_; }
  bool factored() const { return factored_; }
  std::size_t memory_bytes() const { return lower_.bytes() + upper_.bytes() + inverse_.bytes(); }

  void factor(std::span<const double> values) {
    factored_ = false;
    std::vector<double> blocks(values.size());
    const auto n = static_cast<std::size_t>(block_);
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      for (std::size_t i = 0; i < items_; ++i) {
        blocks[k * items_ + i % n * n + i / n] = values[k * items_ + i];
      }
    }
    eliminate(blocks);
    take_factors(
        [&](std::int64_t k) { return blocks.data() + static_cast<std::size_t>(k) * items_; });
  }
  /// Block k of A's structure lies at(k), in column order: of L, of U, inverted on the diagonal.
  template <class At>
  void take_factors(const At& at) {
    factored_ = false;
    const auto rows = diagonal_.size();
    for (std::size_t row = 0; row < rows; ++row) {
      take(lower_, row, row, row_starts_[row], at);
    }
    for (std::size_t step = 0; step < rows; ++step) {
      const auto row = rows - 1 - step;
      take(upper_, step, row, diagonal_[row] + 1, at);
      take(inverse_, step, row, diagonal_[row], at);
    }
    factored_ = true;
  }

  void solve(const double* b, double* x) const {
    const auto size = static_cast<std::ptrdiff_t>(block_);
    // A kernel writes row i to its place in y: here always to the start of `sums`.
    alignas(64) std::array<double, 16> sums;
    alignas(64) std::array<double, 16> rest;
    const auto off_diagonal = kernels_.block_fused[block_][static_cast<int>(kind_)];
    const auto diagonal = kernels_.block_fused[block_][0];
    const auto lower = lower_.arrays();
    const auto upper = upper_.arrays();
    const auto inverse = inverse_.arrays();
    const auto row_of = [](BlockArrays arrays, std::ptrdiff_t row) {
      arrays.row_starts += row;
      return arrays;
    };
    for (std::ptrdiff_t row = 0; row < rows(); ++row) {
      off_diagonal(row_of(lower, row), 0, 1, {x, 0, sums.data(), 0, false});
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        x[row * size + i] = b[row * size + i] - sums[static_cast<std::size_t>(i)];
      }
    }
    for (std::ptrdiff_t step = 0; step < rows(); ++step) {
      const auto row = rows() - 1 - step;
      off_diagonal(row_of(upper, step), 0, 1, {x, 0, sums.data(), 0, false});
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        rest[static_cast<std::size_t>(i)] = x[row * size + i] - sums[static_cast<std::size_t>(i)];
      }
      diagonal(row_of(inverse, step), 0, 1, {rest.data(), 0, x + row * size, 0, false});
    }
  }

 private:
  /// In place: blocks of L and U, those on U's diagonal inverted.
  void eliminate(std::vector<double>& blocks) const {
    const auto subtract = kernels_.block_subtract[block_];
    const auto at = [&](std::int64_t k) {
      return blocks.data() + static_cast<std::size_t>(k) * items_;
    };
    const auto column = [this](std::int64_t k) {
      return static_cast<std::size_t>(columns_[static_cast<std::size_t>(k)]);
    };
    std::vector<std::int64_t> place(diagonal_.size(), -1);
    std::vector<double> negative(items_);
    for (std::size_t row = 0; row < diagonal_.size(); ++row) {
      for (auto k = row_starts_[row]; k < row_starts_[row + 1]; ++k) place[column(k)] = k;
      for (auto k = row_starts_[row]; k < diagonal_[row]; ++k) {
        const auto above = column(k);
        std::fill(negative.begin(), negative.end(), 0.0);
        subtract(negative.data(), at(k), at(diagonal_[above]));
        std::transform(negative.begin(), negative.end(), at(k), std::negate<>());
        for (auto j = diagonal_[above] + 1; j < row_starts_[above + 1]; ++j) {
          if (place[column(j)] >= 0) subtract(at(place[column(j)]), at(k), at(j));
        }
      }
      for (auto k = row_starts_[row]; k < row_starts_[row + 1]; ++k) place[column(k)] = -1;
      if (!kernels_.block_invert[block_](at(diagonal_[row]))) {
        throw std::domain_error(
            "sparse: ILU(0) has a singular or infinite block on the diagonal of block row " +
            std::to_string(row) + "; reorder the rows, or add something to the diagonal");
      }
    }
  }

  /// Block row `row`, from block `first` on, becomes the row `place` of a part.
  template <class At>
  void take(Part& part, std::size_t place, std::size_t row, std::int64_t first, const At& at) {
    const bool single = part.values.kind() == ValueKind::fp32;
    auto slot = static_cast<std::size_t>(part.row_starts[place]) * items_;
    part.values.write([&](auto put) {
      for (auto left = part.row_starts[place + 1] - part.row_starts[place]; left > 0; --left) {
        const double* from = at(first++);
        if (single) check_range(from, row);
        for (std::size_t i = 0; i < items_; ++i) put(slot++, from[i]);
      }
    });
  }
  void check_range(const double* block, std::size_t row) const {
    constexpr double largest = std::numeric_limits<float>::max();
    bool fits = true;  // without an early exit, which the compiler makes vectors of
    for (std::size_t i = 0; i < items_; ++i) fits &= std::abs(block[i]) <= largest;
    for (std::size_t i = 0; !fits; ++i) {
      if (std::abs(block[i]) <= largest) continue;
      throw std::domain_error("sparse: ILU(0) has a factor of " + std::to_string(block[i]) +
                              " in block row " + std::to_string(row) +
                              ", beyond single precision; take single_precision = false");
    }
  }

  int block_;
  std::size_t items_;  ///< of a block
  ValueKind kind_;
  const Kernels& kernels_;
  std::vector<std::int64_t> row_starts_;
  std::vector<std::int32_t> columns_;
  std::vector<std::int64_t> diagonal_;  ///< place of each row's block on the diagonal
  Part lower_;
  Part upper_, inverse_;  ///< the last row first, so that a solve reads forward
  bool factored_ = false;
};

namespace {

/// Refuses arrays that are no square matrix of such blocks.
void check_blocks(int block, std::span<const std::int64_t> row_starts,
                  std::span<const std::int32_t> block_columns) {
  if (block < BlockIncompleteLu::least_block || block > BlockIncompleteLu::largest_block) {
    refuse("block is " + std::to_string(block) + "; it must be from 2 to 16");
  }
  const auto rows = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(row_starts.size())) - 1;
  const std::vector<std::int64_t> columns(block_columns.begin(), block_columns.end());
  const std::vector<double> one_each(columns.size());
  checked(rows, row_starts, std::span<const std::int64_t>(columns), one_each);
}

}  // namespace

BlockIncompleteLu::BlockIncompleteLu(int block, std::span<const std::int64_t> row_starts,
                                     std::span<const std::int32_t> block_columns,
                                     std::span<const double> values,
                                     const BlockIncompleteLuOptions& options) {
  check_blocks(block, row_starts, block_columns);
  const auto items = static_cast<std::size_t>(block * block);
  if (values.size() != block_columns.size() * items) {
    refuse("there are " + std::to_string(values.size()) + " values; " +
           std::to_string(block_columns.size()) + " blocks of " + std::to_string(block) + " x " +
           std::to_string(block) + " have " + std::to_string(block_columns.size() * items));
  }
  state_ = std::make_unique<State>(block, row_starts, block_columns, options);
  state_->factor(values);
}
BlockIncompleteLu::BlockIncompleteLu(std::unique_ptr<State> state) : state_(std::move(state)) {}

BlockIncompleteLu BlockIncompleteLu::from_factors(int block,
                                                  std::span<const std::int64_t> row_starts,
                                                  std::span<const std::int32_t> block_columns,
                                                  std::span<const double* const> factors,
                                                  const BlockIncompleteLuOptions& options) {
  check_blocks(block, row_starts, block_columns);
  if (factors.size() != block_columns.size()) {
    refuse("there are " + std::to_string(factors.size()) + " factors for " +
           std::to_string(block_columns.size()) + " blocks");
  }
  auto state = std::make_unique<State>(block, row_starts, block_columns, options);
  state->take_factors([&](std::int64_t k) { return factors[static_cast<std::size_t>(k)]; });
  return BlockIncompleteLu(std::move(state));
}
BlockIncompleteLu::~BlockIncompleteLu() = default;
BlockIncompleteLu::BlockIncompleteLu(BlockIncompleteLu&&) noexcept = default;
BlockIncompleteLu& BlockIncompleteLu::operator=(BlockIncompleteLu&&) noexcept = default;

void BlockIncompleteLu::set_values(std::span<const double> values) {
  if (values.size() != state_->num_values()) {
    refuse("there are " + std::to_string(values.size()) + " values; the structure has " +
           std::to_string(state_->num_values()));
  }
  state_->factor(values);
}

int BlockIncompleteLu::block() const { return state_->block(); }
std::ptrdiff_t BlockIncompleteLu::rows() const { return state_->rows(); }
std::size_t BlockIncompleteLu::memory_bytes() const { return state_->memory_bytes(); }

void BlockIncompleteLu::solve(std::span<const double> b, std::span<double> x) const {
  const auto items = static_cast<std::size_t>(rows() * block());
  if (b.size() != items || x.size() != items) {
    refuse("b has " + std::to_string(b.size()) + " items and x " + std::to_string(x.size()) +
           "; the factors have " + std::to_string(items) + " rows");
  }
  const std::less<const double*> before;
  if (b.data() != x.data() && !b.empty() && before(b.data(), x.data() + x.size()) &&
      before(x.data(), b.data() + b.size())) {
    refuse("b and x overlap; they must be apart, or the same");
  }
  if (!state_->factored()) {
    throw std::logic_error("sparse: the last factorisation failed; there is nothing to solve with");
  }
  state_->solve(b.data(), x.data());
}

}  // namespace tailrace::sparse
