// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>

#include "sparse/check.hpp"
#include "sparse/choose.hpp"
#include "sparse/csr.hpp"
#include "sparse/instruction_set.hpp"

namespace tailrace::sparse {

namespace {

void check_options(const MatrixOptions& options) {
  constexpr int most_threads = 4096;
  if (options.threads < 1 || options.threads > most_threads) {
    refuse("threads is " + words(options.threads) + "; it must be 1 to " + words(most_threads));
  }
  if (!(options.expected_multiplies >= 0)) {
    refuse("expected_multiplies is " + std::to_string(options.expected_multiplies) +
           "; it must be at least 0");
  }
}

/// The first unit of each thread, and the end: each thread has about as many items.
std::vector<std::ptrdiff_t> share_units(const Stored& stored, int threads) {
  const auto units = stored.num_units();
  std::vector<std::ptrdiff_t> starts{0};
  for (int thread = 1; thread < threads; ++thread) {
    const auto goal = stored.items_before(units) / threads * thread;
    auto low = starts.back();
    auto high = units;
    while (low < high) {
      const auto middle = (low + high) / 2;
      if (stored.items_before(middle) < goal) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts.push_back(low);
  }
  starts.push_back(units);
  return starts;
}

void run(const Stored& stored, const std::vector<std::ptrdiff_t>& starts, const Vectors& vectors) {
  const auto threads = static_cast<int>(starts.size()) - 1;
  if (threads == 1) return stored.multiply(0, starts.back(), vectors);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; ++thread) {
    const auto part = static_cast<std::size_t>(thread);
    if (starts[part] < starts[part + 1]) {
      stored.multiply(starts[part], starts[part + 1], vectors);
    }
  }
}

/// Refuses vectors of the wrong length, and such that overlap.
void check_vectors(std::span<const double> x, std::ptrdiff_t x_length, const char* x_axis,
                   std::span<double> y, std::ptrdiff_t y_length, const char* y_axis) {
  if (static_cast<std::ptrdiff_t>(x.size()) != x_length) {
    refuse("x has " + std::to_string(x.size()) + " items; the matrix has " + words(x_length) + " " +
           x_axis);
  }
  if (static_cast<std::ptrdiff_t>(y.size()) != y_length) {
    refuse("y has " + std::to_string(y.size()) + " items; the matrix has " + words(y_length) + " " +
           y_axis);
  }
  const std::less<const double*> before;
  if (!x.empty() && !y.empty() && before(x.data(), y.data() + y.size()) &&
      before(y.data(), x.data() + x.size())) {
    refuse("x and y overlap; they must be apart");
  }
}

/// Calls `pass` with `block_vectors` vectors each, and with those that are left one by one. Columns
/// of X and Y have `x_length` and `y_length` items.
template <class Pass>
void pass_vectors(std::ptrdiff_t vectors, const double* x, std::ptrdiff_t ldx,
                  std::ptrdiff_t x_length, double* y, std::ptrdiff_t ldy, std::ptrdiff_t y_length,
                  Pass pass) {
  if (vectors < 0) refuse("vectors is " + words(vectors) + "; it must be at least 0");
  if (ldx < x_length || ldy < y_length) {
    refuse("ldx is " + words(ldx) + " and ldy " + words(ldy) + "; they must be at least " +
           words(x_length) + " and " + words(y_length));
  }
  std::ptrdiff_t i = 0;
  for (; i + block_vectors <= vectors; i += block_vectors) {
    pass(Vectors{x + i * ldx, ldx, y + i * ldy, ldy, true});
  }
  for (; i < vectors; ++i) pass(Vectors{x + i * ldx, ldx, y + i * ldy, ldy, false});
}

}  // namespace

Matrix::Matrix(std::ptrdiff_t columns, std::span<const std::int32_t> row_starts,
               std::span<const std::int32_t> column_indices, std::span<const double> values,
               const MatrixOptions& options) {
  check_options(options);
  auto view = checked(columns, row_starts, column_indices, values);
  const std::vector<std::int64_t> starts(row_starts.begin(), row_starts.end());
  view.row_starts = starts.data();
  view.column_indices = column_indices.data();
  take(view, options);
}

Matrix::Matrix(std::ptrdiff_t columns, std::span<const std::int64_t> row_starts,
               std::span<const std::int64_t> column_indices, std::span<const double> values,
               const MatrixOptions& options) {
  check_options(options);
  auto view = checked(columns, row_starts, column_indices, values);
  std::vector<std::int32_t> indices(column_indices.size());
  std::transform(column_indices.begin(), column_indices.end(), indices.begin(),
                 [](std::int64_t column) { return static_cast<std::int32_t>(column); });
  view.row_starts = row_starts.data();
  view.column_indices = indices.data();
  take(view, options);
}

Matrix Matrix::from_blocks(int block, std::ptrdiff_t num_block_columns,
                           std::span<const std::int64_t> row_starts,
                           std::span<const std::int32_t> block_columns,
                           std::span<const double> values, const MatrixOptions& options) {
  check_options(options);
  if (block < smallest_block || block > largest_block) {
    refuse("block is " + words(block) + "; it must be from 2 to 16");
  }
  const auto items = static_cast<std::size_t>(block) * static_cast<std::size_t>(block);
  if (values.size() != block_columns.size() * items) {
    refuse("there are " + std::to_string(values.size()) + " values; " +
           std::to_string(block_columns.size()) + " blocks of " + words(block) + " have " +
           std::to_string(block_columns.size() * items));
  }
  const std::vector<std::int64_t> columns(block_columns.begin(), block_columns.end());
  const auto view = checked(num_block_columns, row_starts, std::span<const std::int64_t>(columns),
                            values.first(block_columns.size()));
  const bool exact = !options.plain_values && all_exact_in_fp32(values);
  Matrix made;
  made.rows_ = view.rows * block;
  made.columns_ = num_block_columns * block;
  made.num_items_ = static_cast<std::ptrdiff_t>(values.size());
  made.options_ = options;
  made.stored_ = make_block_csr(
      block, view.rows, num_block_columns, {row_starts.data(), block_columns.data(), values.data()},
      {exact ? ValueKind::fp32 : ValueKind::fp64, &kernels_up_to(options.highest)});
  made.thread_starts_ = share_units(*made.stored_, options.threads);
  return made;
}

void Matrix::take(const CsrView& view, const MatrixOptions& options) {
  rows_ = view.rows;
  columns_ = view.columns;
  num_items_ = view.num_items();
  options_ = options;
  stored_ = choose(view, options, trials_);
  thread_starts_ = share_units(*stored_, options.threads);
}

void Matrix::set_values(std::span<const double> values) {
  if (static_cast<std::ptrdiff_t>(values.size()) != num_items_) {
    refuse("there are " + std::to_string(values.size()) + " values; the matrix has " +
           words(num_items_) + " items");
  }
  if (stored_.use_count() == 1 && stored_->set_values(values)) return;
  const auto csr = stored_->to_csr();
  const CsrView view{rows_, columns_, csr.row_starts.data(), csr.column_indices.data(),
                     values.data()};
  auto options = options_;
  const auto words_of_storage = storage();
  options.format = words_of_storage.substr(0, words_of_storage.find(','));
  std::vector<Trial> none;
  stored_ = choose(view, options, none);
  thread_starts_ = share_units(*stored_, options.threads);
}

void Matrix::multiply(std::span<const double> x, std::span<double> y) const {
  check_vectors(x, columns_, "columns", y, rows_, "rows");
  run(*stored_, thread_starts_, {x.data(), 0, y.data(), 0, false});
}

void Matrix::multiply(std::ptrdiff_t vectors, const double* x, std::ptrdiff_t ldx, double* y,
                      std::ptrdiff_t ldy) const {
  pass_vectors(vectors, x, ldx, columns_, y, ldy, rows_,
               [this](const Vectors& pass) { run(*stored_, thread_starts_, pass); });
}

void Matrix::multiply_transposed(std::span<const double> x, std::span<double> y) const {
  check_vectors(x, rows_, "rows", y, columns_, "columns");
  stored_->multiply_transposed({x.data(), 0, y.data(), 0, false});
}

void Matrix::multiply_transposed(std::ptrdiff_t vectors, const double* x, std::ptrdiff_t ldx,
                                 double* y, std::ptrdiff_t ldy) const {
  pass_vectors(vectors, x, ldx, rows_, y, ldy, columns_,
               [this](const Vectors& pass) { stored_->multiply_transposed(pass); });
}

Csr Matrix::to_csr() const { return stored_->to_csr(); }
std::string Matrix::storage() const { return stored_->describe(); }
std::size_t Matrix::memory_bytes() const { return stored_->memory_bytes(); }

}  // namespace tailrace::sparse
