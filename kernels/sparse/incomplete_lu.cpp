// SPDX-License-Identifier: BSD-3-Clause
// The factorisation is that of Saad, Iterative Methods for Sparse Linear Systems (2003), algorithm
// 10.4: row by row, each item once. A solve reads the factors once, 12 bytes an item (8 in single
// precision). Row after row waits for its predecessor: a chain of load, product and sum a row,
// which costs more than the bytes where rows are short. Levels have no such chain, but read and
// write x in a scattered order. So both are there, and "auto" times them.
#include "tailrace/more/incomplete_lu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "chooser/decide.hpp"
#include "chooser/tuning_is_off.hpp"
#include "sparse/check.hpp"
#include "sparse/instruction_set.hpp"
#include "sparse/level_rows.hpp"
#include "sparse/lu_solver.hpp"

namespace tailrace::sparse {

namespace {

/// With fewer rows a level on average, most lanes would be idle.
constexpr std::ptrdiff_t least_rows_of_level = 16;

/// The reference: L forward, U backward, one row after the other.
template <class Value>
class PlainRows : public LuSolver {
 public:
  PlainRows(const Csr& factors, const Diagonal& diagonal)
      : lower_starts_{0}, upper_starts_{0}, inverse_(static_cast<std::size_t>(factors.rows)) {
    for (std::size_t row = 0; row < inverse_.size(); ++row) {
      append(factors, factors.row_starts[row], diagonal[row], lower_columns_, lower_values_);
      append(factors, diagonal[row] + 1, factors.row_starts[row + 1], upper_columns_,
             upper_values_);
      lower_starts_.push_back(static_cast<std::int64_t>(lower_columns_.size()));
      upper_starts_.push_back(static_cast<std::int64_t>(upper_columns_.size()));
      inverse_[row] = 1 / factors.values[static_cast<std::size_t>(diagonal[row])];
    }
  }
  void solve(const double* b, double* x) const override {
    const auto rows = inverse_.size();
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = b[row];
      for (auto k = lower_starts_[row]; k < lower_starts_[row + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        sum += static_cast<double>(lower_values_[at]) * x[lower_columns_[at]];
      }
      x[row] = sum;
    }
    for (auto row = rows; row-- > 0;) {
      double sum = x[row];
      for (auto k = upper_starts_[row]; k < upper_starts_[row + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        sum += static_cast<double>(upper_values_[at]) * x[upper_columns_[at]];
      }
      x[row] = sum * inverse_[row];
    }
  }
  std::size_t memory_bytes() const override {
    return (4 + sizeof(Value)) * (lower_values_.size() + upper_values_.size()) +
           24 * inverse_.size();
  }
  std::string describe() const override { return sizeof(Value) == 8 ? "rows, fp64" : "rows, fp32"; }

 private:
  static void append(const Csr& factors, std::int64_t begin, std::int64_t end,
                     std::vector<std::int32_t>& columns, std::vector<Value>& values) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
      columns.push_back(factors.column_indices[k]);
      values.push_back(static_cast<Value>(-factors.values[k]));
    }
  }

  std::vector<std::int64_t> lower_starts_, upper_starts_;
  std::vector<std::int32_t> lower_columns_, upper_columns_;
  std::vector<Value> lower_values_, upper_values_;
  std::vector<double> inverse_;
};

class Levels : public LuSolver {
 public:
  Levels(const Csr& factors, const Diagonal& diagonal, const LevelOrder& order, ValueKind values,
         const Kernels& kernels)
      : single_(values == ValueKind::fp32),
        order_(order),
        lower_(factors, diagonal, order, Triangle::lower, values, kernels),
        upper_(factors, diagonal, order, Triangle::upper, values, kernels) {}
  void solve(const double* b, double* x) const override {
    // Kept by the thread, as fresh memory costs a page fault every 4 KiB.
    static thread_local std::vector<double> work;
    if (work.size() < order_.row_of_slot.size()) work.resize(order_.row_of_slot.size());
    lower_.solve(order_, b, work.data(), x);
    upper_.solve(order_, b, work.data(), x);
  }
  std::size_t memory_bytes() const override {
    return lower_.memory_bytes() + upper_.memory_bytes() + 4 * order_.row_of_slot.size() +
           order_.counts.size();
  }
  std::string describe() const override { return single_ ? "levels, fp32" : "levels, fp64"; }

 private:
  bool single_;
  LevelOrder order_;
  LevelRows lower_, upper_;
};

Diagonal find_diagonal(const Csr& a) {
  Diagonal diagonal;
  for (std::size_t row = 0; row < static_cast<std::size_t>(a.rows); ++row) {
    const auto begin = a.column_indices.begin() + a.row_starts[row];
    const auto end = a.column_indices.begin() + a.row_starts[row + 1];
    const auto found = std::lower_bound(begin, end, static_cast<std::int32_t>(row));
    if (found == end || *found != static_cast<std::int32_t>(row)) {
      refuse("row " + words(static_cast<std::int64_t>(row)) +
             " has no item on the diagonal; ILU(0) needs one, if only a zero, in each row");
    }
    diagonal.push_back(found - a.column_indices.begin());
  }
  return diagonal;
}

/// Factors in place. Products and differences are rounded each, row by row in order of columns.
/// Of what falls on no item, the part `modified` is taken from the diagonal.
void factor(Csr& a, const Diagonal& diagonal, double modified) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(a.rows), -1);  // of this row's columns
  const auto column = [&a](std::int64_t k) {
    return static_cast<std::size_t>(a.column_indices[static_cast<std::size_t>(k)]);
  };
  double* values = a.values.data();
  for (std::size_t row = 0; row < place.size(); ++row) {
    const auto begin = a.row_starts[row];
    const auto end = a.row_starts[row + 1];
    for (auto k = begin; k < end; ++k) place[column(k)] = k;
    for (auto k = begin; k < diagonal[row]; ++k) {
      const auto above = column(k);
      values[k] /= values[diagonal[above]];
      for (auto j = diagonal[above] + 1; j < a.row_starts[above + 1]; ++j) {
        const auto at = place[column(j)];
        if (at >= 0) {
          values[at] -= values[k] * values[j];
        } else if (modified > 0) {
          values[diagonal[row]] -= modified * values[k] * values[j];
        }
      }
    }
    const double pivot = values[diagonal[row]];
    if (pivot == 0 || !std::isfinite(pivot)) {
      throw std::domain_error("sparse: ILU(0) has pivot " + std::to_string(pivot) + " in row " +
                              std::to_string(row) +
                              "; reorder the rows, or add something to the diagonal");
    }
    for (auto k = begin; k < end; ++k) place[column(k)] = -1;
  }
}

void check_range(const Csr& factors) {
  for (const double value : factors.values) {
    if (std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())) continue;
    throw std::domain_error("sparse: ILU(0) has a factor of " + std::to_string(value) +
                            ", beyond single precision; take single_precision = false");
  }
}

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// CPU time of one solve, the faster of two (each of several where the matrix is small). Before
/// each, as many bytes as A has are read, as an iteration does, so that vectors are as far away as
/// there.
double time_s(const LuSolver& solver, const Csr& factors) {
  std::vector<double> b(static_cast<std::size_t>(factors.rows), 1.0);
  std::vector<double> x(b.size());
  const auto repeats = std::clamp<std::size_t>(100000 / (factors.values.size() + 1), 1, 1000);
  double best = HUGE_VAL;
  for (int run = 0; run < 2; ++run) {
    const auto& values = factors.values;
    const auto& columns = factors.column_indices;
    const double read =
        std::accumulate(values.begin(), values.end(), 0.0) +
        static_cast<double>(std::accumulate(columns.begin(), columns.end(), std::int64_t{0}));
    if (!b.empty()) b[0] = std::isfinite(read) ? 1.0 : 0.0;  // so that nothing is left out
    const double start = cpu_s();
    for (std::size_t i = 0; i < repeats; ++i) solver.solve(b.data(), x.data());
    best = std::min(best, std::max(1e-9, cpu_s() - start) / static_cast<double>(repeats));
  }
  return best;
}

/// The factors, and what solvers are made from.
struct Parts {
  const Csr& factors;
  const Diagonal& diagonal;
  const LevelOrder& order;
};

std::shared_ptr<const LuSolver> make_solver(const Parts& parts, const std::string& schedule,
                                            const IncompleteLuOptions& options) {
  if (schedule == "chain") {
    return make_chain(parts.factors, parts.diagonal, options.single_precision);
  }
  if (schedule == "levels") {
    const auto kind = options.single_precision ? ValueKind::fp32 : ValueKind::fp64;
    return std::make_shared<Levels>(parts.factors, parts.diagonal, parts.order, kind,
                                    kernels_up_to(options.highest));
  }
  if (options.single_precision) {
    return std::make_shared<PlainRows<float>>(parts.factors, parts.diagonal);
  }
  return std::make_shared<PlainRows<double>>(parts.factors, parts.diagonal);
}

template <class Index>
std::shared_ptr<Csr> copy_csr(std::span<const Index> row_starts,
                              std::span<const Index> column_indices,
                              std::span<const double> values) {
  const auto n = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(row_starts.size())) - 1;
  checked(n, row_starts, column_indices, values);
  auto made = std::make_shared<Csr>();
  made->rows = made->columns = n;
  made->row_starts.assign(row_starts.begin(), row_starts.end());
  made->values.assign(values.begin(), values.end());
  made->column_indices.reserve(column_indices.size());
  for (const auto column : column_indices) {
    made->column_indices.push_back(static_cast<std::int32_t>(column));
  }
  return made;
}

void check_schedule(const IncompleteLuOptions& options) {
  const auto& schedule = options.schedule;
  if (schedule == "auto" || schedule == "rows" || schedule == "levels") return;
  if (schedule == "chain" && !options.bit_for_bit) return;
  if (schedule == "chain") refuse("schedule chain does not sum in the order of bit_for_bit");
  refuse("schedule is \"" + schedule + "\"; it must be one of auto, rows, chain, levels");
}

}  // namespace

IncompleteLu::IncompleteLu(std::span<const std::int32_t> row_starts,
                           std::span<const std::int32_t> column_indices,
                           std::span<const double> values, const IncompleteLuOptions& options) {
  take(copy_csr(row_starts, column_indices, values), options);
}
IncompleteLu::IncompleteLu(std::span<const std::int64_t> row_starts,
                           std::span<const std::int64_t> column_indices,
                           std::span<const double> values, const IncompleteLuOptions& options) {
  take(copy_csr(row_starts, column_indices, values), options);
}

template <class Index>
IncompleteLu IncompleteLu::from_symmetric(std::span<const Index> row_starts,
                                          std::span<const Index> column_indices,
                                          std::span<const double> values,
                                          const IncompleteLuOptions& options) {
  const auto a = copy_csr(row_starts, column_indices, values);
  IncompleteLu made;
  const auto factors = std::make_shared<Csr>(factor_symmetric(*a, find_diagonal(*a), made.shift_));
  made.use(factors, find_diagonal(*factors), options);
  return made;
}

IncompleteLu IncompleteLu::cholesky(std::span<const std::int32_t> row_starts,
                                    std::span<const std::int32_t> column_indices,
                                    std::span<const double> values,
                                    const IncompleteLuOptions& options) {
  return from_symmetric(row_starts, column_indices, values, options);
}
IncompleteLu IncompleteLu::cholesky(std::span<const std::int64_t> row_starts,
                                    std::span<const std::int64_t> column_indices,
                                    std::span<const double> values,
                                    const IncompleteLuOptions& options) {
  return from_symmetric(row_starts, column_indices, values, options);
}

IncompleteLu IncompleteLu::from_factors(Csr factors, const IncompleteLuOptions& options) {
  const std::vector<std::int64_t> columns(factors.column_indices.begin(),
                                          factors.column_indices.end());
  factors.rows = std::max<std::ptrdiff_t>(1, std::ssize(factors.row_starts)) - 1;
  factors.columns = factors.rows;
  checked(factors.rows, std::span<const std::int64_t>(factors.row_starts),
          std::span<const std::int64_t>(columns), factors.values);
  IncompleteLu made;
  const auto copied = std::make_shared<Csr>(std::move(factors));
  const auto diagonal = find_diagonal(*copied);
  for (const auto k : diagonal) {
    const double pivot = copied->values[static_cast<std::size_t>(k)];
    if (pivot == 0 || !std::isfinite(pivot)) {
      throw std::domain_error("sparse: the factors have pivot " + std::to_string(pivot));
    }
  }
  made.use(copied, diagonal, options);
  return made;
}

void IncompleteLu::take(const std::shared_ptr<Csr>& a, const IncompleteLuOptions& options) {
  const auto diagonal = find_diagonal(*a);
  check_schedule(options);
  if (!(options.modified >= 0 && options.modified <= 1)) {
    refuse("modified is " + std::to_string(options.modified) + "; it must be from 0 to 1");
  }
  factor(*a, diagonal, options.modified);
  use(a, diagonal, options);
}

void IncompleteLu::use(const std::shared_ptr<Csr>& a, const std::vector<std::int64_t>& diagonal,
                       const IncompleteLuOptions& options) {
  check_schedule(options);
  if (options.single_precision) check_range(*a);
  rows_ = a->rows;
  factors_ = a;
  auto wanted = options.schedule;
  if (wanted == "auto" && tuning_is_off()) wanted = options.bit_for_bit ? "rows" : "chain";
  const auto order = wanted == "chain" ? LevelOrder{} : order_by_levels(*a);
  num_levels_ = order.num_levels;
  const Parts parts{*a, diagonal, order};
  if (wanted != "auto") {
    solver_ = make_solver(parts, wanted, options);
    return;
  }
  std::array both{0.0, 0.0};  // times of the best one so far and of the one that is tried
  for (const std::string schedule : {"rows", "chain", "levels"}) {
    if (schedule == "chain" && options.bit_for_bit) continue;
    if (schedule == "levels" && num_levels_ * least_rows_of_level > rows_) break;
    const double start = cpu_s();
    auto made = make_solver(parts, schedule, options);
    const double conversion_s = cpu_s() - start;
    trials_.push_back({made->describe(), time_s(*made, *a), conversion_s, made->memory_bytes()});
    both[1] = trials_.back().multiply_s;
    if (solver_ && chooser::first_as_good(both, chooser::least_difference) == 0) continue;
    solver_ = std::move(made);
    both[0] = both[1];
  }
}

void IncompleteLu::solve(std::span<const double> b, std::span<double> x) const {
  if (static_cast<std::ptrdiff_t>(b.size()) != rows_ || b.size() != x.size()) {
    refuse("b has " + std::to_string(b.size()) + " items and x " + std::to_string(x.size()) +
           "; the factors have " + words(rows_) + " rows");
  }
  const std::less<const double*> before;
  if (b.data() != x.data() && !b.empty() && before(b.data(), x.data() + x.size()) &&
      before(x.data(), b.data() + b.size())) {
    refuse("b and x overlap; they must be apart, or the same");
  }
  solver_->solve(b.data(), x.data());
}

std::string IncompleteLu::storage() const { return solver_->describe(); }
std::size_t IncompleteLu::memory_bytes() const { return solver_->memory_bytes(); }

}  // namespace tailrace::sparse
