// SPDX-License-Identifier: BSD-3-Clause
// Triangular solves, one row after the other, with the shortest chain from row to row. Each row
// waits for x of the row before: it is loaded, multiplied, and added to the row's sum. That product
// comes last here, after those with rows that are long done: in L it does anyway, U's rows are
// turned round. U's rows are divided by their pivots beforehand, so that no division or product
// follows the sum. And this file may fuse products and sums, where the processor can.
// Where the items lie on few diagonals, as on 7 points, eight rows take their products with rows
// that are long done side by side, without column indices; what is left of the chain stays in a
// register.
#include "sparse/lu_solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "sparse/kernels.hpp"

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

/// Eight rows side by side; only passed by reference, as compilers differ in how values are passed.
typedef double Eight __attribute__((vector_size(num_lanes * sizeof(double))));

/// One triangle on diagonals, by chunks of eight rows: the values of each distant diagonal, those
/// of the row before (offset 1), and what sums are multiplied with. Distances count from the
/// diagonal into the triangle; zeros stand where there is no item, which is why x must be finite.
struct Triangle {
  std::vector<std::ptrdiff_t> distances;  ///< at least `num_lanes`, the largest first
  std::vector<double> distant, near;

  /// The distances of `factors` in one triangle, unless it has too many or one between.
  static std::optional<Triangle> find(const Csr& factors, const Diagonal& diagonal, bool upper) {
    Triangle made;
    std::size_t num_items = 0;
    for (std::size_t row = 0; row < diagonal.size(); ++row) {
      const auto begin = upper ? diagonal[row] + 1 : factors.row_starts[row];
      const auto end = upper ? factors.row_starts[row + 1] : diagonal[row];
      for (auto k = begin; k < end; ++k, ++num_items) {
        const auto column = factors.column_indices[static_cast<std::size_t>(k)];
        const auto distance = std::abs(column - static_cast<std::ptrdiff_t>(row));
        if (distance == 1 || std::ranges::find(made.distances, distance) != made.distances.end()) {
          continue;
        }
        if (distance < num_lanes || made.distances.size() == most_diagonals) return std::nullopt;
        made.distances.push_back(distance);
      }
    }
    if (made.distances.size() * diagonal.size() > most_fill * num_items) return std::nullopt;
    std::ranges::sort(made.distances, std::greater<>());
    const auto padded = (diagonal.size() + num_lanes - 1) / num_lanes * num_lanes;
    made.distant.resize(padded * made.distances.size());
    made.near.resize(padded);
    return made;
  }
  void set(std::size_t row, std::size_t distance, double value) {
    if (distance == 1) {
      near[row] = value;
      return;
    }
    const auto found =
        std::ranges::find(distances, static_cast<std::ptrdiff_t>(distance)) - distances.begin();
    const auto chunk = row / num_lanes * distances.size() + static_cast<std::size_t>(found);
    distant[chunk * num_lanes + row % num_lanes] = value;
  }
  /// sums -= distant items times x of the rows at `first` + `sign` * distance and after.
  void subtract(std::ptrdiff_t first, std::ptrdiff_t sign, const double* x, std::ptrdiff_t rows,
                Eight& sums) const {
    const double* value = distant.data() + first * std::ssize(distances);
    for (const auto distance : distances) {
      const auto from = first + sign * distance;
      Eight values, there{};
      std::memcpy(&values, value, sizeof values);
      if (from >= 0 && from + num_lanes <= rows) {
        std::memcpy(&there, x + from, sizeof there);
      } else {
        for (int lane = 0; lane < num_lanes; ++lane) {
          if (from + lane >= 0 && from + lane < rows) there[lane] = x[from + lane];
        }
      }
      sums -= values * there;
      value += num_lanes;
    }
  }
  std::size_t bytes() const { return 8 * (distant.size() + near.size()); }

  static constexpr std::size_t most_diagonals = 12;
  static constexpr std::size_t most_fill = 2;  ///< slots an item
};

/// Zeros stand for missing items, and 0 * x is NaN where x is not finite. Each row is multiplied
/// into the next one, so what is not finite reaches the last of its chunk: where that one is, the
/// solve goes on from this chunk by the items of the factors alone.
class ChainedDiagonals final : public LuSolver {
 public:
  /// `factors` must live as long.
  ChainedDiagonals(const Csr& factors, const Diagonal& diagonal, Triangle lower, Triangle upper)
      : factors_(factors), lower_(std::move(lower)), upper_(std::move(upper)) {
    inverse_.reserve(diagonal.size());
    for (std::size_t row = 0; row < diagonal.size(); ++row) {
      const double inverse = 1 / factors.values[static_cast<std::size_t>(diagonal[row])];
      inverse_.push_back(inverse);
      for_each_item(row, [&](std::size_t column, double value) {
        if (column < row) lower_.set(row, row - column, value);
        if (column > row) upper_.set(row, column - row, value * inverse);
      });
    }
  }
  void solve(const double* b, double* x) const override {
    const auto rows = std::ssize(inverse_);
    const auto whole = rows / num_lanes * num_lanes;
    double before = 0;
    std::ptrdiff_t first = 0;
    while (first < whole && forward(first, num_lanes, b, x, before)) first += num_lanes;
    if (first < whole || (whole < rows && !forward(whole, rows - whole, b, x, before))) {
      forward_by_items(first, b, x);
    }
    before = 0;
    if (whole < rows && !backward(whole, rows - whole, x, before))
      return backward_by_items(rows, x);
    for (first = whole; first > 0; first -= num_lanes) {
      if (!backward(first - num_lanes, num_lanes, x, before)) return backward_by_items(first, x);
    }
  }
  std::size_t memory_bytes() const override {
    return lower_.bytes() + upper_.bytes() + 8 * inverse_.size();
  }
  std::string describe() const override { return "chain, fp64, diagonals"; }

 private:
  template <class Visit>
  void for_each_item(std::size_t row, Visit visit) const {
    for (auto k = factors_.row_starts[row]; k < factors_.row_starts[row + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      visit(static_cast<std::size_t>(factors_.column_indices[at]), factors_.values[at]);
    }
  }
  /// `count` rows from `first` on, of x where `before` is the one ahead of them, and the last of
  /// them then. False where that one is not finite: x has b there, as if nothing had been done.
  [[gnu::always_inline]] inline bool forward(std::ptrdiff_t first, std::ptrdiff_t count,
                                             const double* b, double* x, double& before) const {
    const auto bytes = static_cast<std::size_t>(count) * sizeof *x;
    Eight given{};
    std::memcpy(&given, b + first, bytes);
    auto sums = given;
    lower_.subtract(first, -1, x, std::ssize(inverse_), sums);
    const double* near = lower_.near.data() + first;
    for (std::ptrdiff_t lane = 0; lane < count; ++lane) {
      x[first + lane] = before = sums[lane] - near[lane] * before;
    }
    if (std::isfinite(before)) [[likely]]
      return true;
    std::memcpy(x + first, &given, bytes);
    return false;
  }
  /// The same of U, from the last of them on.
  [[gnu::always_inline]] inline bool backward(std::ptrdiff_t first, std::ptrdiff_t count, double* x,
                                              double& before) const {
    const auto bytes = static_cast<std::size_t>(count) * sizeof *x;
    Eight given{}, inverse{};
    std::memcpy(&given, x + first, bytes);
    std::memcpy(&inverse, inverse_.data() + first, bytes);
    auto sums = given * inverse;
    upper_.subtract(first, 1, x, std::ssize(inverse_), sums);
    const double* near = upper_.near.data() + first;
    for (auto lane = count; lane-- > 0;) {
      x[first + lane] = before = sums[lane] - near[lane] * before;
    }
    if (std::isfinite(before)) [[likely]]
      return true;
    std::memcpy(x + first, &given, bytes);
    return false;
  }
  /// Rows from `first` on; its chunk of x has b already.
  void forward_by_items(std::ptrdiff_t first, const double* b, double* x) const {
    if (b != x) std::copy(b + first, b + inverse_.size(), x + first);
    for (auto row = static_cast<std::size_t>(first); row < inverse_.size(); ++row) {
      double sum = x[row];
      for_each_item(row, [&](std::size_t column, double value) {
        if (column < row) sum -= value * x[column];
      });
      x[row] = sum;
    }
  }
  /// Rows below `last`, backward.
  void backward_by_items(std::ptrdiff_t last, double* x) const {
    for (auto row = static_cast<std::size_t>(last); row-- > 0;) {
      double sum = x[row];
      for_each_item(row, [&](std::size_t column, double value) {
        if (column > row) sum -= value * x[column];
      });
      x[row] = sum * inverse_[row];
    }
  }

  const Csr& factors_;
  Triangle lower_, upper_;
  std::vector<double> inverse_;
};

}  // namespace

std::shared_ptr<const LuSolver> make_chain(const Csr& factors, const Diagonal& diagonal,
                                           bool single_precision) {
  if (single_precision) return std::make_shared<ChainedRows<float>>(factors, diagonal);
  auto lower = Triangle::find(factors, diagonal, false);
  auto upper = Triangle::find(factors, diagonal, true);
  if (lower && upper) {
    return std::make_shared<ChainedDiagonals>(factors, diagonal, std::move(*lower),
                                              std::move(*upper));
  }
  return std::make_shared<ChainedRows<double>>(factors, diagonal);
}

}  // namespace tailrace::sparse
