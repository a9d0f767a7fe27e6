// SPDX-License-Identifier: BSD-3-Clause
// Block CSR: dense square blocks of 2 to 16, columns of a block one after the other, so that lanes
// are rows and sums are those of the reference. One column index serves a block: 8 bytes an item
// for large blocks. Blocks may have slots that are no items (fill); a bit a slot remembers which.
#include <algorithm>

#include "sparse/csr.hpp"
#include "sparse/fill.hpp"

namespace tailrace::sparse {

namespace {

constexpr std::ptrdiff_t unit_rows = 512;

class BlockCsr : public Stored {
 public:
  BlockCsr(const CsrView& a, const Features& f, const Wish& wish)
      : kernels_(wish.kernels),
        size_(f.block),
        rows_(a.rows),
        num_columns_(a.columns),
        num_items_(a.num_items()),
        unit_(std::max<std::ptrdiff_t>(1, unit_rows / size_)),
        values_(wish.values, 0, f.dictionary) {
    find_blocks(a);
    const auto slots = columns_.size() * static_cast<std::size_t>(size_ * size_);
    values_ = Values(wish.values, slots, f.dictionary);
    has_fill_ = slots != static_cast<std::size_t>(num_items_);
    if (has_fill_) {
      values_.clear();
      present_ = Presence(slots);
    }
    values_.write([&](auto put) {
      for_each_item(a, [&](std::size_t slot, std::int64_t k) {
        put(slot, a.values[k]);
        if (has_fill_) present_.set(slot);
      });
    });
  }

  /// Of blocks without fill.
  BlockCsr(int size, std::ptrdiff_t rows, std::ptrdiff_t columns, const BlockArrays& blocks,
           const Wish& wish)
      : kernels_(wish.kernels),
        size_(size),
        rows_(rows * size),
        num_columns_(columns * size),
        num_items_(blocks.row_starts[rows] * size * size),
        unit_(std::max<std::ptrdiff_t>(1, unit_rows / size)),
        starts_(blocks.row_starts, blocks.row_starts + rows + 1),
        columns_(blocks.columns, blocks.columns + blocks.row_starts[rows]),
        values_(wish.values, static_cast<std::size_t>(num_items_), {}) {
    values_.write([&, from = static_cast<const double*>(blocks.values)](auto put) {
      for (std::ptrdiff_t slot = 0; slot < num_items_; ++slot) put(slot, from[slot]);
    });
  }

  std::ptrdiff_t num_units() const override { return (num_block_rows() + unit_ - 1) / unit_; }
  std::ptrdiff_t items_before(std::ptrdiff_t unit) const override {
    const auto row = std::min(num_block_rows(), unit * unit_);
    return starts_[static_cast<std::size_t>(row)] * size_ * size_;
  }
  void multiply(std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& vectors) const override {
    const BlockArrays arrays{starts_.data(), columns_.data(), values_.data()};
    const auto kernel =
        kernels_->block[size_][static_cast<int>(values_.kind())][vectors.block ? 1 : 0];
    for (auto unit = first; unit < last; ++unit) {
      const auto begin = unit * unit_;
      const auto end = std::min(num_block_rows(), begin + unit_);
      kernel(arrays, begin, end, vectors);
      if (!has_fill_) continue;
      repair_rows(begin * size_, end * size_, vectors,
                  [this](std::ptrdiff_t row, const double* x) { return row_sum(row, x); });
    }
  }
  void multiply_transposed(const Vectors& vectors) const override {
    from_zero(vectors, num_columns_, [&](auto n) {
      values_.read([&](auto value) {
        with_size<2>([&](auto size) {
          for (std::ptrdiff_t row = 0; row < num_block_rows(); ++row) {
            scatter_block_row<size(), n()>(row, value, vectors);
          }
        });
      });
    });
  }
  Csr to_csr() const override {
    Csr csr{rows_, num_columns_, {0}, {}, {}};
    for (std::ptrdiff_t row = 0; row < rows_; ++row) {
      for_each_slot(row, [&](std::size_t slot, std::int32_t column) {
        csr.column_indices.push_back(column);
        csr.values.push_back(values_[slot]);
      });
      csr.row_starts.push_back(static_cast<std::int64_t>(csr.values.size()));
    }
    return csr;
  }
  bool set_values(std::span<const double> values) override {
    if (!values_.can_hold(values)) return false;
    values_.write([&](auto put) {
      auto next = values.begin();
      for (std::ptrdiff_t row = 0; row < rows_; ++row) {
        for_each_slot(row, [&](std::size_t at, std::int32_t) { put(at, *next++); });
      }
    });
    return true;
  }
  std::string describe() const override {
    const auto edge = std::to_string(size_);
    return "block_csr, blocks of " + edge + " x " + edge + ", " + values_.words();
  }
  std::size_t memory_bytes() const override {
    return values_.bytes() + present_.bytes() + 4 * columns_.size() + 8 * starts_.size();
  }

 private:
  std::ptrdiff_t num_block_rows() const { return rows_ / size_; }

  void find_blocks(const CsrView& a) {
    starts_.push_back(0);
    columns_.reserve(static_cast<std::size_t>(num_items_ / (size_ * size_)));
    with_size<2>([&](auto size) { find_blocks_of<size()>(a); });
  }
  template <int size>
  void find_blocks_of(const CsrView& a) {
    std::vector<std::ptrdiff_t> seen(static_cast<std::size_t>(num_columns_ / size), -1);
    for (std::ptrdiff_t row = 0; row < num_block_rows(); ++row) {
      for (auto k = a.row_starts[row * size]; k < a.row_starts[(row + 1) * size]; ++k) {
        const auto block = a.column_indices[k] / size;
        if (seen[static_cast<std::size_t>(block)] == row) continue;
        seen[static_cast<std::size_t>(block)] = row;
        columns_.push_back(block);
      }
      std::sort(columns_.begin() + starts_.back(), columns_.end());
      starts_.push_back(static_cast<std::int64_t>(columns_.size()));
    }
  }

  /// Calls visit(slot, place in CSR) for each item.
  template <class Visit>
  void for_each_item(const CsrView& a, Visit visit) const {
    with_size<2>([&](auto size) {
      constexpr std::size_t edge = size();
      for (std::ptrdiff_t row = 0; row < rows_; ++row) {
        if (a.length(row) == 0) continue;
        auto block = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row) / edge]);
        const auto lane = static_cast<std::size_t>(row) % edge;
        auto first = columns_[block] * size();  // column
        for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
          const auto column = a.column_indices[k];
          while (column >= first + size()) first = columns_[++block] * size();
          visit((block * edge + static_cast<std::size_t>(column - first)) * edge + lane, k);
        }
      }
    });
  }
  /// Calls visit(slot, column) for each item of a row.
  template <class Visit>
  void for_each_slot(std::ptrdiff_t row, Visit visit) const {
    const auto edge = static_cast<std::size_t>(size_);
    const auto block_row = static_cast<std::size_t>(row / size_);
    for (auto k = starts_[block_row]; k < starts_[block_row + 1]; ++k) {
      const auto block = static_cast<std::size_t>(k);
      for (std::size_t j = 0; j < edge; ++j) {
        const auto slot = (block * edge + j) * edge + static_cast<std::size_t>(row % size_);
        if (present_[slot]) visit(slot, columns_[block] * size_ + static_cast<std::int32_t>(j));
      }
    }
  }
  /// Calls `use` with the size of blocks as a constant.
  template <int size, class Use>
  void with_size(const Use& use) const {
    if (size_ == size) return use(std::integral_constant<int, size>());
    if constexpr (size < 16) with_size<size + 1>(use);
  }
  /// Y += A^T X for the rows of a block row.
  template <int size, int n, class Value>
  void scatter_block_row(std::ptrdiff_t block_row, const Value& value, const Vectors& to) const {
    const auto first = block_row * size_;
    if (has_fill_ && !all_finite<n>(to, first, size_)) {
      for (int lane = 0; lane < size_; ++lane) {
        const auto row = first + lane;
        for_each_slot(row, [&](std::size_t slot, std::int32_t column) {
          for (int i = 0; i < n; ++i) {
            to.y[column + i * to.ldy] += values_[slot] * to.x[row + i * to.ldx];
          }
        });
      }
      return;
    }
    double x[size * n];
    for (int lane = 0; lane < size; ++lane) {
      for (int i = 0; i < n; ++i) x[lane * n + i] = to.x[first + lane + i * to.ldx];
    }
    const auto at = static_cast<std::size_t>(block_row);
    auto slot = static_cast<std::size_t>(starts_[at] * size * size);
    for (auto k = starts_[at]; k < starts_[at + 1]; ++k) {
      double* y = to.y + std::ptrdiff_t{columns_[static_cast<std::size_t>(k)]} * size;
      if constexpr (size <= 8) values_.prefetch(slot + 256);
      for (int j = 0; j < size; ++j, slot += size) {
        for (int i = 0; i < n; ++i) {
          double sum = y[j + i * to.ldy];
          for (int lane = 0; lane < size; ++lane) {
            sum += value(slot + static_cast<std::size_t>(lane)) * x[lane * n + i];
          }
          y[j + i * to.ldy] = sum;
        }
      }
    }
  }
  double row_sum(std::ptrdiff_t row, const double* x) const {
    double sum = 0;
    for_each_slot(row,
                  [&](std::size_t slot, std::int32_t column) { sum += values_[slot] * x[column]; });
    return sum;
  }

  const Kernels* kernels_;
  int size_;
  std::ptrdiff_t rows_;
  std::ptrdiff_t num_columns_;
  std::ptrdiff_t num_items_;
  std::ptrdiff_t unit_;  ///< block rows
  std::vector<std::int64_t> starts_;
  std::vector<std::int32_t> columns_;  ///< of blocks
  Values values_;
  bool has_fill_ = false;
  Presence present_;
};

}  // namespace

std::unique_ptr<Stored> make_block_csr(const CsrView& a, const Features& f, const Wish& wish) {
  return std::make_unique<BlockCsr>(a, f, wish);
}

std::unique_ptr<Stored> make_block_csr(int size, std::ptrdiff_t rows, std::ptrdiff_t columns,
                                       const BlockArrays& blocks, const Wish& wish) {
  return std::make_unique<BlockCsr>(size, rows, columns, blocks, wish);
}

}  // namespace tailrace::sparse
