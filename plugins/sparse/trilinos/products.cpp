// SPDX-License-Identifier: BSD-3-Clause
// Epetra computes the first products of a matrix, which are timed. Then the matrix is stored by
// tailrace::sparse, whose products are timed, and the faster of the two computes all later ones.
// Epetra counts no changes: programs write to values through pointers that they keep, or own the
// arrays. So the three arrays are watched (write_watch.hpp) before they are copied, and each
// product asks first whether anything was written. After a change, Epetra computes until the values
// have stayed the same for some products: for twice as many each time that a copy did not pay.
#include "products.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include "options.hpp"
#include "patience.hpp"
#include "plugins/sparse/records.hpp"
#include "plugins/sparse/turns.hpp"
#include "serve.hpp"
#include "tailrace/sparse.hpp"

namespace tailrace::trilinos {

namespace {

using sparse_plugins::cpu_s;
using sparse_plugins::new_record;
using sparse_plugins::Record;
using sparse_plugins::Turns;

/// One kind of product of a matrix; products of several vectors are compared with as many.
struct Operation {
  std::ptrdiff_t vectors = 0;  ///< 0: not seen yet
  Turns turns;
  std::shared_ptr<Record> record;  ///< once Tailrace computed one

  bool is_seen() const { return vectors > 0; }
  bool has_lost() const { return turns.decided() && !turns.ours_wins(); }
};

/// What is known of the matrix in three arrays of the program.
class Served {
 public:
  explicit Served(const Product& product) : arrays_(product.arrays) {}

  bool is_of(const Product& product) const { return arrays_.are_at(product.arrays); }

  void multiply(const Product& product, const std::function<void()>& epetra) {
    auto& operation = operations_[(product.transposed ? 1 : 0) + (product.vectors > 1 ? 2 : 0)];
    if (!operation.is_seen()) operation.vectors = product.vectors;
    const double start = cpu_s();
    if (!is_ours(operation, product)) {
      const bool is_timed = !given_up_ && !operation.turns.decided() &&
                            operation.turns.library_is_due() &&
                            operation.vectors == product.vectors;
      epetra();
      patience_.add_call();
      if (is_timed) operation.turns.add_library(cpu_s() - start);
      return;
    }
    run(product);
    note(operation, product, cpu_s() - start);
  }

 private:
  /// Whether Tailrace computes this product; the copy has the present values then.
  bool is_ours(Operation& operation, const Product& product) {
    if (given_up_ || operation.has_lost() || !can_do(product)) return false;
    if (!operation.turns.decided() && operation.vectors != product.vectors) return false;
    if (is_current_ && !arrays_.are_unchanged()) forget_values();
    if (operation.turns.library_is_due() && !options().always) return false;
    if (!is_current_ && patience_.is_over()) make_current(operation);
    return is_current_;
  }

  /// Vectors as Epetra passes them, and apart.
  bool can_do(const Product& product) const {
    const auto x_items = product.transposed ? arrays_.rows() : num_columns_;
    const auto last = product.vectors - 1;
    if (product.vectors < 1) return false;
    if (last > 0 && (product.ldx < x_items || product.ldy < product.result_items)) return false;
    if (product.transposed && product.result_items < num_columns_) return false;
    const double* const x_end = product.x + last * product.ldx + x_items;
    const double* const y_end = product.y + last * product.ldy + product.result_items;
    const std::less_equal<const double*> before;
    return before(x_end, product.y) || before(y_end, product.x);
  }

  void forget_values() {
    is_current_ = false;
    patience_.restart();
    for (auto& operation : operations_) operation.turns.restart();
  }

  /// Copies the arrays as they are now. They are watched first, so that a write of another thread
  /// meanwhile is seen by the next product.
  void make_current(Operation& operation) {
    const double start = cpu_s();
    const auto values = arrays_.values();
    try {
      if (!arrays_.watch_values()) return give_up();
      if (matrix_ && arrays_.structure_is_unchanged()) {
        matrix_->set_values(values);
      } else if (!store(values)) {
        return give_up();
      }
    } catch (const std::exception&) {  // no memory, or columns that do not ascend
      return give_up();
    }
    is_current_ = true;
    const double taken = cpu_s() - start;
    patience_.add_cost(taken);
    record_of(operation).inspection_s += taken;
  }

  bool store(std::span<const double> values) {
    const auto columns = arrays_.columns();
    if (!arrays_.watch_structure()) return false;
    num_columns_ = columns.empty() ? 0 : 1 + std::ranges::max(columns);
    sparse::MatrixOptions wish;
    wish.bit_for_bit = options().bit_for_bit;
    matrix_.emplace(num_columns_, arrays_.row_starts(), columns, values, wish);
    for (auto& operation : operations_) operation.record.reset();
    return true;
  }

  void give_up() {
    given_up_ = true;
    is_current_ = false;
    matrix_.reset();
  }

  Record& record_of(Operation& operation) {
    static constexpr std::array names{"Multiply", "Multiply transposed",
                                      "Multiply, several vectors",
                                      "Multiply transposed, several vectors"};
    auto& record = operation.record;
    if (!record) {
      record = new_record(names[static_cast<std::size_t>(&operation - operations_.data())]);
      record->rows = arrays_.rows();
      record->items = arrays_.items();
      record->storage = matrix_->storage();
      record->library_s = operation.turns.library_s();
    }
    return *record;
  }

  void run(const Product& product) const {
    const auto rows = static_cast<std::size_t>(arrays_.rows());
    const auto columns = static_cast<std::size_t>(num_columns_);
    const auto [vectors, x, ldx, y, ldy] =
        std::tie(product.vectors, product.x, product.ldx, product.y, product.ldy);
    if (product.transposed) {
      if (vectors == 1) matrix_->multiply_transposed({x, rows}, {y, columns});
      if (vectors > 1) matrix_->multiply_transposed(vectors, x, ldx, y, ldy);
      for (std::ptrdiff_t i = 0; i < vectors; ++i) {  // columns without an item
        std::fill(y + i * ldy + num_columns_, y + i * ldy + product.result_items, 0.0);
      }
    } else if (vectors == 1) {
      matrix_->multiply({x, columns}, {y, rows});
    } else {
      matrix_->multiply(vectors, x, ldx, y, ldy);
    }
  }

  void note(Operation& operation, const Product& product, double time_s) {
    auto& record = record_of(operation);
    if (operation.vectors == product.vectors) ++record.ours;
    if (!operation.turns.decided()) {
      operation.turns.add_ours(record, time_s, options().always);
      if (!operation.turns.ours_wins()) lose(record);
    }
    if (record.timed()) patience_.add_gain(record.library_s - record.ours_s);
  }

  void lose(Record& record) {
    record.storage.clear();
    const auto is_lost = [](const Operation& other) {
      return !other.is_seen() || other.has_lost();
    };
    if (std::ranges::all_of(operations_, is_lost)) give_up();
  }

  WatchedArrays arrays_;
  std::optional<sparse::Matrix> matrix_;
  std::ptrdiff_t num_columns_ = 0;
  bool is_current_ = false;  ///< `matrix_` has the values that are watched
  bool given_up_ = false;
  Patience patience_;
  std::array<Operation, 4> operations_;
};

}  // namespace

void multiply(const Product& product, const std::function<void()>& epetra) {
  static auto& all = *new std::list<Served>;  // products may be computed while the program ends
  const auto& arrays = product.arrays;
  const bool may = may_replace() && arrays.rows() > 0 && arrays.items() >= options().least_items &&
                   arrays.row_starts()[0] == 0;
  if (!may) return epetra();
  serve([&] { find(all, product).multiply(product, epetra); }, epetra);
}

}  // namespace tailrace::trilinos
