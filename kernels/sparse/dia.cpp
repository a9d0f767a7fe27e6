// SPDX-License-Identifier: BSD-3-Clause
// DIA: whole diagonals, eight rows at a time: the items of all diagonals of rows 0 to 7, then of
// rows 8 to 15. No column is stored and none gathered: 8 bytes a slot, 1 with a dictionary
// (stencils of constant coefficients). Slots that are no items (fill) are remembered by a bit each.
#include <algorithm>

#include "sparse/csr.hpp"
#include "sparse/fill.hpp"

namespace tailrace::sparse {

namespace {

constexpr std::ptrdiff_t unit_chunks = 64;
constexpr std::ptrdiff_t scatter_rows =
    256;  ///< of a transposed multiply, one diagonal after another

class Dia : public Stored {
 public:
  Dia(const CsrView& a, const Features& f, const Wish& wish)
      : kernels_(wish.kernels),
        rows_(a.rows),
        num_columns_(a.columns),
        num_chunks_((a.rows + num_lanes - 1) / num_lanes),
        offsets_(f.diagonals),
        values_(wish.values, static_cast<std::size_t>(num_chunks_ * num_lanes) * f.diagonals.size(),
                f.dictionary) {
    const auto slots = static_cast<std::size_t>(num_chunks_ * num_lanes) * offsets_.size();
    has_fill_ = slots != static_cast<std::size_t>(a.num_items());
    if (has_fill_) {
      values_.clear();
      present_ = Presence(slots);
    }
    values_.write([&](auto put) {
      for (std::ptrdiff_t row = 0; row < rows_; ++row) {
        std::size_t d = 0;
        for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
          while (offsets_[d] < a.column_indices[k] - row) ++d;
          put(slot(row, d), a.values[k]);
          if (has_fill_) present_.set(slot(row, d));
        }
      }
    });
  }

  std::ptrdiff_t num_units() const override {
    return (num_chunks_ + unit_chunks - 1) / unit_chunks;
  }
  std::ptrdiff_t items_before(std::ptrdiff_t unit) const override {
    return std::min(num_chunks_, unit * unit_chunks) * num_lanes * num_diagonals();
  }
  void multiply(std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& vectors) const override {
    const DiaArrays arrays{values_.data(),  values_.table(), offsets_.data(),
                           num_diagonals(), rows_,           num_columns_};
    const auto kernel = kernels_->dia[values_.kernel()][vectors.block ? 1 : 0];
    for (auto unit = first; unit < last; ++unit) {
      const auto begin = unit * unit_chunks;
      const auto end = std::min(num_chunks_, begin + unit_chunks);
      kernel(arrays, begin, end, vectors);
      if (!has_fill_) continue;
      repair_rows(begin * num_lanes, std::min(rows_, end * num_lanes), vectors,
                  [this](std::ptrdiff_t row, const double* x) { return row_sum(row, x); });
    }
  }
  void multiply_transposed(const Vectors& vectors) const override {
    from_zero(vectors, num_columns_, [&](auto n) {
      values_.read([&](auto value) {
        for (std::ptrdiff_t row = 0; row < rows_; row += scatter_rows) {
          scatter<n()>(row, value, vectors);
        }
      });
    });
  }
  Csr to_csr() const override {
    Csr csr{rows_, num_columns_, {0}, {}, {}};
    for (std::ptrdiff_t row = 0; row < rows_; ++row) {
      for_each_slot(row, [&](std::size_t at, std::ptrdiff_t column) {
        csr.column_indices.push_back(static_cast<std::int32_t>(column));
        csr.values.push_back(values_[at]);
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
        for_each_slot(row, [&](std::size_t at, std::ptrdiff_t) { put(at, *next++); });
      }
    });
    return true;
  }
  std::string describe() const override {
    return "dia, " + std::to_string(offsets_.size()) + " diagonals, " + values_.words();
  }
  std::size_t memory_bytes() const override {
    return values_.bytes() + present_.bytes() + 4 * offsets_.size();
  }

 private:
  std::ptrdiff_t num_diagonals() const { return static_cast<std::ptrdiff_t>(offsets_.size()); }
  std::size_t slot(std::ptrdiff_t row, std::size_t d) const {
    const auto chunk = static_cast<std::size_t>(row / num_lanes);
    return (chunk * offsets_.size() + d) * num_lanes + static_cast<std::size_t>(row % num_lanes);
  }
  /// Calls visit(slot, column) for each item of a row.
  template <class Visit>
  void for_each_slot(std::ptrdiff_t row, Visit visit) const {
    for (std::size_t d = 0; d < offsets_.size(); ++d) {
      if (present_[slot(row, d)]) visit(slot(row, d), row + offsets_[d]);
    }
  }
  /// Y += A^T X for some rows. The last diagonal first: so each sum is in the order of rows. As
  /// many rows that what one diagonal wrote has left the processor when the next one reads it.
  template <int n, class Value>
  void scatter(std::ptrdiff_t row, const Value& value, const Vectors& to) const {
    const bool inside = !offsets_.empty() && row + scatter_rows <= rows_ &&
                        row + offsets_.front() >= 0 &&
                        row + scatter_rows + offsets_.back() <= num_columns_;
    if (!inside || (has_fill_ && !all_finite<n>(to, row, scatter_rows))) {
      for (auto end = std::min(rows_, row + scatter_rows); row < end; ++row) {
        scatter_row<n>(row, to);
      }
      return;
    }
    for (auto d = offsets_.size(); d-- > 0;) {
      for (auto begin = row; begin < row + scatter_rows; begin += num_lanes) {
        const auto first = slot(begin, d);
        values_.prefetch(slot(begin + scatter_rows, d));
        for (int i = 0; i < n; ++i) {
          const double* x = to.x + begin + i * to.ldx;
          double* y = to.y + begin + offsets_[d] + i * to.ldy;
          double sums[num_lanes];
          for (std::size_t lane = 0; lane < num_lanes; ++lane) {
            sums[lane] = y[lane] + value(first + lane) * x[lane];
          }
          std::copy_n(sums, num_lanes, y);
        }
      }
    }
  }
  template <int n>
  void scatter_row(std::ptrdiff_t row, const Vectors& to) const {
    for_each_slot(row, [&](std::size_t at, std::ptrdiff_t column) {
      for (int i = 0; i < n; ++i) {
        to.y[column + i * to.ldy] += values_[at] * to.x[row + i * to.ldx];
      }
    });
  }
  double row_sum(std::ptrdiff_t row, const double* x) const {
    double sum = 0;
    for_each_slot(row,
                  [&](std::size_t at, std::ptrdiff_t column) { sum += values_[at] * x[column]; });
    return sum;
  }

  const Kernels* kernels_;
  std::ptrdiff_t rows_;
  std::ptrdiff_t num_columns_;
  std::ptrdiff_t num_chunks_;
  std::vector<std::int32_t> offsets_;  ///< column - row, ascending
  Values values_;
  bool has_fill_ = false;
  Presence present_;
};

}  // namespace

std::unique_ptr<Stored> make_dia(const CsrView& a, const Features& f, const Wish& wish) {
  return std::make_unique<Dia>(a, f, wish);
}

}  // namespace tailrace::sparse
