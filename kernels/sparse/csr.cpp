// SPDX-License-Identifier: BSD-3-Clause
// CSR: the plain reference (one sum a row, in order), and csr_wide: eight sums a row, added up at
// its end, for long rows, whose single sum waits for each addition. 12 bytes an item, 8 a row.
#include "sparse/csr.hpp"

#include <algorithm>

#include "sparse/fill.hpp"

namespace tailrace::sparse {

namespace {

template <int n>
void multiply_rows(const CsrArrays& a, std::ptrdiff_t first, std::ptrdiff_t last,
                   const Vectors& to) {
  for (auto row = first; row < last; ++row) {
    double sums[n] = {};
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const double* x = to.x + a.columns[k];
      for (int i = 0; i < n; ++i) sums[i] += a.values[k] * x[i * to.ldx];
    }
    for (int i = 0; i < n; ++i) to.y[row + i * to.ldy] = sums[i];
  }
}

/// Y += A^T X, row by row.
template <int n>
void scatter_rows(const CsrView& a, const Vectors& to) {
  for (std::ptrdiff_t row = 0; row < a.rows; ++row) {
    double x[n];
    for (int i = 0; i < n; ++i) x[i] = to.x[row + i * to.ldx];
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      double* y = to.y + a.column_indices[k];
      for (int i = 0; i < n; ++i) y[i * to.ldy] += a.values[k] * x[i];
    }
  }
}

class StoredCsr : public Stored {
 public:
  StoredCsr(const CsrView& view, const Kernels* wide) : wide_(wide), view_(view) {}

  void own() {
    const auto rows = static_cast<std::size_t>(view_.rows);
    const auto items = static_cast<std::size_t>(view_.num_items());
    starts_ = Aligned<std::int64_t>(rows + 1);
    columns_ = Aligned<std::int32_t>(items);
    values_ = Aligned<double>(items);
    std::copy_n(view_.row_starts, rows + 1, starts_.data());
    std::copy_n(view_.column_indices, items, columns_.data());
    std::copy_n(view_.values, items, values_.data());
    view_ = {view_.rows, view_.columns, starts_.data(), columns_.data(), values_.data()};
  }

  std::ptrdiff_t num_units() const override { return view_.rows; }
  std::ptrdiff_t items_before(std::ptrdiff_t unit) const override { return view_.row_starts[unit]; }
  void multiply(std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& vectors) const override {
    const CsrArrays arrays{view_.row_starts, view_.column_indices, view_.values};
    if (wide_ != nullptr) {
      wide_->csr_wide[vectors.block ? 1 : 0](arrays, first, last, vectors);
    } else if (vectors.block) {
      multiply_rows<block_vectors>(arrays, first, last, vectors);
    } else {
      multiply_rows<1>(arrays, first, last, vectors);
    }
  }
  void multiply_transposed(const Vectors& vectors) const override {
    from_zero(vectors, view_.columns, [&](auto n) { scatter_rows<n()>(view_, vectors); });
  }
  Csr to_csr() const override {
    const auto items = view_.num_items();
    return {view_.rows,
            view_.columns,
            {view_.row_starts, view_.row_starts + view_.rows + 1},
            {view_.column_indices, view_.column_indices + items},
            {view_.values, view_.values + items}};
  }
  bool set_values(std::span<const double> values) override {
    std::copy(values.begin(), values.end(), values_.data());
    return true;
  }
  std::string describe() const override {
    return wide_ == nullptr ? "csr, 32-bit columns, fp64" : "csr_wide, 32-bit columns, fp64";
  }
  std::size_t memory_bytes() const override {
    return static_cast<std::size_t>(12 * view_.num_items() + 8 * (view_.rows + 1));
  }

 private:
  const Kernels* wide_;
  CsrView view_;
  Aligned<std::int64_t> starts_;
  Aligned<std::int32_t> columns_;
  Aligned<double> values_;
};

std::unique_ptr<Stored> make_owned(const CsrView& a, const Kernels* wide) {
  auto made = std::make_unique<StoredCsr>(a, wide);
  made->own();
  return made;
}

}  // namespace

std::unique_ptr<Stored> borrow_csr(const CsrView& a, const Kernels* wide) {
  return std::make_unique<StoredCsr>(a, wide);
}
std::unique_ptr<Stored> make_csr(const CsrView& a, const Features&, const Wish&) {
  return make_owned(a, nullptr);
}
std::unique_ptr<Stored> make_csr_wide(const CsrView& a, const Features&, const Wish& wish) {
  return make_owned(a, wish.kernels);
}

}  // namespace tailrace::sparse
