// SPDX-License-Identifier: BSD-3-Clause
// A triangle is one of the two factors of `IncompleteLu`; the other one is the identity. Its
// storage costs more solves than that of a matrix costs products, so that Epetra solves more often
// first. Values that change are seen as in products.cpp.
#include "solves.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "options.hpp"
#include "patience.hpp"
#include "plugins/sparse/records.hpp"
#include "plugins/sparse/turns.hpp"
#include "serve.hpp"
#include "tailrace/more/incomplete_lu.hpp"

namespace tailrace::trilinos {

namespace {

using sparse_plugins::cpu_s;
using sparse_plugins::new_record;
using sparse_plugins::Record;
using sparse_plugins::Turns;

/// Items of the matrix of the system by rows: those of the arrays, or of their transpose.
sparse::Csr rows_of(const WatchedArrays& arrays, bool transposed) {
  const auto n = arrays.rows();
  sparse::Csr csr{n, n, {}, {}, {}};
  const auto columns = arrays.columns();
  const auto values = arrays.values();
  const auto starts = arrays.row_starts();
  if (!transposed) {
    csr.row_starts.assign(starts.begin(), starts.end());
    csr.column_indices.assign(columns.begin(), columns.end());
    csr.values.assign(values.begin(), values.end());
    return csr;
  }
  csr.row_starts.assign(starts.size(), 0);
  for (const int column : columns) ++csr.row_starts.at(static_cast<std::size_t>(column) + 1);
  for (std::size_t i = 1; i < starts.size(); ++i) csr.row_starts[i] += csr.row_starts[i - 1];
  auto next = csr.row_starts;
  csr.column_indices.resize(columns.size());
  csr.values.resize(values.size());
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    for (auto k = static_cast<std::size_t>(starts[row]);
         k < static_cast<std::size_t>(starts[row + 1]); ++k) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(columns[k])]++);
      csr.column_indices[to] = static_cast<std::int32_t>(row);
      csr.values[to] = values[k];
    }
  }
  return csr;
}

/// With the ones of the diagonal: after the items of a lower triangle, before those of an upper
/// one. Nothing if an item lies on the other side.
std::optional<sparse::Csr> with_diagonal(const sparse::Csr& rows, bool lower) {
  const auto n = static_cast<std::size_t>(rows.rows);
  sparse::Csr all{rows.rows, rows.rows, {0}, {}, {}};
  all.row_starts.reserve(n + 1);
  all.column_indices.reserve(rows.values.size() + n);
  all.values.reserve(rows.values.size() + n);
  for (std::size_t row = 0; row < n; ++row) {
    const auto diagonal = static_cast<std::int32_t>(row);
    const auto add_one = [&] {
      all.column_indices.push_back(diagonal);
      all.values.push_back(1);
    };
    if (!lower) add_one();
    for (auto k = static_cast<std::size_t>(rows.row_starts[row]);
         k < static_cast<std::size_t>(rows.row_starts[row + 1]); ++k) {
      const auto column = rows.column_indices[k];
      if (lower ? column >= diagonal : column <= diagonal) return std::nullopt;
      all.column_indices.push_back(column);
      all.values.push_back(rows.values[k]);
    }
    if (lower) add_one();
    all.row_starts.push_back(std::ssize(all.values));
  }
  return all;
}

/// What is known of one triangle, for one kind of system.
class Triangle {
 public:
  explicit Triangle(const Solve& solve)
      : upper_(solve.upper), transposed_(solve.transposed), arrays_(solve.arrays) {}

  bool is_of(const Solve& solve) const {
    return upper_ == solve.upper && transposed_ == solve.transposed && arrays_.are_at(solve.arrays);
  }

  void solve(const Solve& solve, const std::function<void()>& epetra) {
    const double start = cpu_s();
    if (!is_ours(solve)) {
      const bool is_timed = turns_.ours_wins() && turns_.library_is_due();
      epetra();
      patience_.add_call();
      if (is_timed) turns_.add_library(cpu_s() - start);
      return;
    }
    const auto rows = static_cast<std::size_t>(arrays_.rows());
    factors_->solve({solve.b, rows}, {solve.x, rows});
    note(cpu_s() - start);
  }

 private:
  /// Whether Tailrace solves this system; the factors have the present values then.
  bool is_ours(const Solve& solve) {
    if (!turns_.ours_wins() || !are_apart(solve)) return false;
    if (factors_ && !arrays_.are_unchanged()) {
      factors_.reset();
      patience_.restart();
      turns_.restart();
    }
    if (turns_.library_is_due() && !options().always) return false;
    if (!factors_ && patience_.is_over()) store(solve);
    return factors_.has_value();
  }

  bool are_apart(const Solve& solve) const {
    const std::less_equal<const double*> before;
    const auto rows = arrays_.rows();
    return solve.b == solve.x || before(solve.b + rows, solve.x) || before(solve.x + rows, solve.b);
  }

  void store(const Solve& solve) {
    const double start = cpu_s();
    try {
      if (!arrays_.watch_values() || !arrays_.watch_structure()) return turns_.give_up();
      auto factors = with_diagonal(rows_of(arrays_, transposed_), solve.is_lower());
      if (!factors) return turns_.give_up();
      factors_.emplace(
          sparse::IncompleteLu::from_factors(*std::move(factors), {.schedule = "chain"}));
    } catch (const std::exception&) {  // no memory, columns that do not ascend, or values that
      return turns_.give_up();         // are not finite
    }
    if (!record_) {
      record_ = new_record(solve.is_lower() ? "Solve, lower triangle" : "Solve, upper triangle");
      record_->rows = arrays_.rows();
      record_->items = arrays_.items();
      record_->library_s = turns_.library_s();
    }
    record_->storage = factors_->storage();
    const double taken = cpu_s() - start;
    record_->inspection_s += taken;
    patience_.add_cost(taken);
  }

  void note(double time_s) {
    ++record_->ours;
    if (!turns_.decided()) {
      turns_.add_ours(*record_, time_s, options().always);
      if (!turns_.ours_wins()) {
        record_->storage.clear();
        factors_.reset();
      }
    }
    if (record_->timed()) patience_.add_gain(record_->library_s - record_->ours_s);
  }

  bool upper_, transposed_;
  WatchedArrays arrays_;
  std::optional<sparse::IncompleteLu> factors_;
  Turns turns_;
  Patience patience_{10};
  std::shared_ptr<Record> record_;
};

}  // namespace

void solve(const Solve& solve, const std::function<void()>& epetra) {
  static auto& all = *new std::list<Triangle>;  // the program may solve while it ends
  const auto& arrays = solve.arrays;
  const bool may = may_replace() && !options().bit_for_bit && arrays.rows() > 0 &&
                   arrays.items() >= options().least_items && arrays.row_starts()[0] == 0;
  if (!may) return epetra();
  serve([&] { find(all, solve).solve(solve, epetra); }, epetra);
}

}  // namespace tailrace::trilinos
