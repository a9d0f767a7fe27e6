// SPDX-License-Identifier: BSD-3-Clause
// Triangular solves, one row after the other, with the shortest chain from row to row. Each row
// waits for x of the row before: it is loaded, multiplied, and added to the row's sum. That product
// comes last here, after those with rows that are long done: in L it does anyway, U's rows are
// turned round. U's rows are divided by their pivots beforehand, so that no division or product
// follows the sum. And this file may fuse products and sums, where the processor can.
#include "sparse/lu_solver.hpp"

namespace tailrace::sparse {

namespace {

template <class Value>
struct Rows {
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> columns;
  std::vector<Value> values;

  void reserve(std::size_t rows, std::size_t items) {
    lengths.reserve(rows);
    columns.reserve(items);
    values.reserve(items);
  }
  std::size_t bytes() const {
    return 4 * (lengths.size() + columns.size()) + sizeof(Value) * values.size();
  }
};

template <class Value>
class ChainedRows final : public LuSolver {
 public:
  ChainedRows(const Csr& factors, const Diagonal& diagonal) {
    const auto rows = static_cast<std::size_t>(factors.rows);
    const auto column = [&](std::int64_t k) {
      return factors.column_indices[static_cast<std::size_t>(k)];
    };
    const auto value = [&](std::int64_t k) { return factors.values[static_cast<std::size_t>(k)]; };
    std::size_t lower_items = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      lower_items += static_cast<std::size_t>(diagonal[row] - factors.row_starts[row]);
    }
    lower_.reserve(rows, lower_items);
    upper_.reserve(rows, factors.values.size() - lower_items - rows);
    inverse_.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto begin = factors.row_starts[row];
      lower_.lengths.push_back(static_cast<std::int32_t>(diagonal[row] - begin));
      for (auto k = begin; k < diagonal[row]; ++k) {
        lower_.columns.push_back(column(k));
        lower_.values.push_back(static_cast<Value>(value(k)));
      }
      inverse_.push_back(1 / value(diagonal[row]));
    }
    for (auto row = rows; row-- > 0;) {
      const auto end = factors.row_starts[row + 1];
      upper_.lengths.push_back(static_cast<std::int32_t>(end - diagonal[row] - 1));
      for (auto k = end - 1; k > diagonal[row]; --k) {
        upper_.columns.push_back(column(k));
        upper_.values.push_back(static_cast<Value>(value(k) * inverse_[row]));
      }
    }
  }
  void solve(const double* b, double* x) const override {
    const auto rows = inverse_.size();
    const std::int32_t* column = lower_.columns.data();
    const Value* value = lower_.values.data();
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = b[row];
      for (auto left = lower_.lengths[row]; left > 0; --left) {
        sum -= static_cast<double>(*value++) * x[*column++];
      }
      x[row] = sum;
    }
    column = upper_.columns.data();
    value = upper_.values.data();
    for (std::size_t step = 0; step < rows; ++step) {
      const auto row = rows - 1 - step;
      double sum = x[row] * inverse_[row];
      for (auto left = upper_.lengths[step]; left > 0; --left) {
        sum -= static_cast<double>(*value++) * x[*column++];
      }
      x[row] = sum;
    }
  }
  std::size_t memory_bytes() const override {
    return lower_.bytes() + upper_.bytes() + 8 * inverse_.size();
  }
  std::string describe() const override {
    return sizeof(Value) == 8 ? "chain, fp64" : "chain, fp32";
  }

 private:
  Rows<Value> lower_, upper_;  ///< in the order of the solve
  std::vector<double> inverse_;
};

}  // namespace

std::shared_ptr<const LuSolver> make_chain(const Csr& factors, const Diagonal& diagonal,
                                           bool single_precision) {
  if (single_precision) return std::make_shared<ChainedRows<float>>(factors, diagonal);
  return std::make_shared<ChainedRows<double>>(factors, diagonal);
}

}  // namespace tailrace::sparse
