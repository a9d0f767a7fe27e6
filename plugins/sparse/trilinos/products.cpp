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
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "chooser/environment.hpp"
#include "chooser/tuning_is_off.hpp"
#include "options.hpp"
#include "plugins/sparse/records.hpp"
#include "plugins/sparse/turns.hpp"
#include "tailrace/sparse.hpp"
#include "write_watch.hpp"

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

/// How long Epetra computes after a change of values.
class Patience {
 public:
  bool is_over() const { return products_ >= needed_; }
  void add_product() { ++products_; }
  void add_cost(double time_s) { cost_s_ += time_s; }
  void add_gain(double time_s) { gain_s_ += time_s; }
  void restart() {
    constexpr std::ptrdiff_t least = 4;
    constexpr std::ptrdiff_t most = 1 << 20;
    const bool has_paid = gain_s_ >= cost_s_ || options().always;
    needed_ = has_paid ? 0 : std::clamp(2 * needed_, least, most);
    products_ = 0;
    cost_s_ = gain_s_ = 0;
  }

 private:
  std::ptrdiff_t needed_ = 0, products_ = 0;
  double cost_s_ = 0, gain_s_ = 0;
};

/// What is known of the matrix in three arrays of the program.
class Served {
 public:
  explicit Served(const Product& product)
      : rows_(product.rows),
        items_(product.items()),
        values_(product.values),
        columns_(product.columns),
        row_starts_(product.row_starts) {}

  bool is_of(const Product& product) const {
    return values_ == product.values && columns_ == product.columns &&
           row_starts_ == product.row_starts && rows_ == product.rows && items_ == product.items();
  }

  void multiply(const Product& product, const std::function<void()>& epetra) {
    auto& operation = operations_[(product.transposed ? 1 : 0) + (product.vectors > 1 ? 2 : 0)];
    if (!operation.is_seen()) operation.vectors = product.vectors;
    const double start = cpu_s();
    if (!is_ours(operation, product)) {
      const bool is_timed = !given_up_ && !operation.turns.decided() &&
                            operation.turns.library_is_due() &&
                            operation.vectors == product.vectors;
      epetra();
      patience_.add_product();
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
    if (is_current_ && !is_unchanged()) forget_values();
    if (operation.turns.library_is_due() && !options().always) return false;
    if (!is_current_ && patience_.is_over()) make_current(operation);
    return is_current_;
  }

  /// Vectors as Epetra passes them, and apart.
  bool can_do(const Product& product) const {
    const auto x_items = product.transposed ? rows_ : num_columns_;
    const auto last = product.vectors - 1;
    if (product.vectors < 1) return false;
    if (last > 0 && (product.ldx < x_items || product.ldy < product.result_items)) return false;
    if (product.transposed && product.result_items < num_columns_) return false;
    const double* const x_end = product.x + last * product.ldx + x_items;
    const double* const y_end = product.y + last * product.ldy + product.result_items;
    const std::less_equal<const double*> before;
    return before(x_end, product.y) || before(y_end, product.x);
  }

  bool structure_is_unchanged() const {
    return column_watch_.is_unchanged() && row_start_watch_.is_unchanged();
  }
  bool is_unchanged() const { return value_watch_.is_unchanged() && structure_is_unchanged(); }

  void forget_values() {
    is_current_ = false;
    patience_.restart();
    for (auto& operation : operations_) operation.turns.restart();
  }

  /// Copies the arrays as they are now. They are watched first, so that a write of another thread
  /// meanwhile is seen by the next product.
  void make_current(Operation& operation) {
    const double start = cpu_s();
    const std::span values(values_, static_cast<std::size_t>(items_));
    try {
      if (!value_watch_.start(values.data(), values.size_bytes())) return give_up();
      if (matrix_ && structure_is_unchanged()) {
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
    const std::span columns(columns_, values.size());
    const std::span row_starts(row_starts_, static_cast<std::size_t>(rows_) + 1);
    if (!column_watch_.start(columns.data(), columns.size_bytes())) return false;
    if (!row_start_watch_.start(row_starts.data(), row_starts.size_bytes())) return false;
    num_columns_ = columns.empty() ? 0 : 1 + std::ranges::max(columns);
    sparse::MatrixOptions wish;
    wish.bit_for_bit = options().bit_for_bit;
    matrix_.emplace(num_columns_, row_starts, columns, values, wish);
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
      record->rows = rows_;
      record->items = items_;
      record->storage = matrix_->storage();
      record->library_s = operation.turns.library_s();
    }
    return *record;
  }

  void run(const Product& product) const {
    const auto rows = static_cast<std::size_t>(rows_);
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

  std::ptrdiff_t rows_, items_;
  const double* values_;
  const int* columns_;
  const int* row_starts_;

  std::optional<sparse::Matrix> matrix_;
  std::ptrdiff_t num_columns_ = 0;
  bool is_current_ = false;  ///< `matrix_` has the values that are watched
  bool given_up_ = false;
  WriteWatch value_watch_, column_watch_, row_start_watch_;
  Patience patience_;
  std::array<Operation, 4> operations_;
};

/// The matrices that were multiplied last come first.
Served& find(const Product& product) {
  constexpr std::size_t most_matrices = 64;
  static auto& all = *new std::list<Served>;  // products may be computed while the program ends
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.is_of(product); });
  if (found == all.end()) {
    all.emplace_front(product);
    if (all.size() > most_matrices) all.pop_back();
  } else {
    all.splice(all.begin(), all, found);
  }
  return all.front();
}

void say(const std::string& line) {
  if (options().summary && detail::is_first_process()) {
    std::fprintf(stderr, "tailrace: %s\n", line.c_str());
  }
}

/// Whether any product may be replaced; asked at the first product, when lines are arranged.
bool start() {
  if (tuning_is_off() && !options().always) {
    say("all products are left to Epetra: TAILRACE_TUNE=off, so that nothing is timed; "
        "TAILRACE_SPARSE=always takes over what it can");
    return false;
  }
  if (!WriteWatch::is_supported()) {
    say("all products are left to Epetra: this system does not tell who writes to the values of "
        "a matrix (it takes Linux 6.7, and userfaultfd permitted)");
    return false;
  }
  sparse_plugins::finish_records("Epetra", false, [] {});  // the list outlives what follows
  std::atexit([] {
    sparse_plugins::finish_records("Epetra", options().summary && detail::is_first_process(),
                                   [] {});
  });
  return true;
}

}  // namespace

void multiply(const Product& product, const std::function<void()>& epetra) {
  static std::mutex mutex;
  static const bool may_replace = start();
  thread_local bool is_within = false;  // a product by which Epetra computes another
  if (may_replace && !is_within && product.rows > 0 && product.items() >= options().least_items &&
      product.row_starts[0] == 0) {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (lock) {
      is_within = true;
      find(product).multiply(product, epetra);
      is_within = false;
      return;
    }
  }
  epetra();
}

}  // namespace tailrace::trilinos
