// SPDX-License-Identifier: BSD-3-Clause
// A rank's rows are cut in two: columns of its own rows, and columns of others' (the halo), of
// which only the rows that have any are stored. Both are `Matrix`es, in the formats that suit them.
// A multiply sends its items, multiplies with its own columns, waits, and adds the halo's part.
// Of coupled values both are kept as they are, with the blocks of the diagonal beside them.
#include "tailrace/more/dist_matrix.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/same_on_all.hpp"
#include "krylov/agreed.hpp"
#include "krylov/halo.hpp"
#include "sparse/coupled_incomplete_lu.hpp"
#include "sparse/instruction_set.hpp"

namespace tailrace::sparse {

namespace {

struct Given {
  const Layout& rows;
  int block;
  std::span<const std::int64_t> row_starts, columns;
  std::span<const double> values;
  const CoupledValues* coupled;  ///< in place of `values`, or null
};

[[noreturn]] void refuse(const std::string& text) {
  throw Error(Errc::invalid_input, "DistMatrix: " + text);
}

void check_columns(const Given& a, std::ptrdiff_t num_rows, std::ptrdiff_t global_rows) {
  for (std::ptrdiff_t row = 0; row < num_rows; ++row) {
    const auto begin = a.row_starts[static_cast<std::size_t>(row)];
    const auto end = a.row_starts[static_cast<std::size_t>(row) + 1];
    if (end < begin || end > std::ssize(a.columns)) {
      refuse(
          fmt::format("row_starts goes from {} to {} at local block row {}; it must not fall, "
                      "and end at {}",
                      begin, end, row, a.columns.size()));
    }
    std::int64_t before = -1;
    for (auto k = begin; k < end; ++k) {
      const auto column = a.columns[static_cast<std::size_t>(k)];
      if (column < 0 || column >= global_rows) {
        refuse(fmt::format("local block row {} has block column {}; there are {}", row, column,
                           global_rows));
      }
      if (column <= before) {
        refuse(
            fmt::format("local block row {} has block column {} after {}; they must ascend, "
                        "each once",
                        row, column, before));
      }
      before = column;
    }
  }
}

void check_coupled(const CoupledValues& a, std::size_t block, std::size_t num_columns,
                   std::size_t num_rows) {
  constexpr int largest = CoupledIncompleteLu::largest_block;
  if (block > largest) {
    refuse(fmt::format("coupled values have blocks of {0} x {0}; at most {1} x {1} are possible",
                       block, largest));
  }
  if (a.couplings.size() == num_columns && a.blocks.size() == num_rows * block * block) return;
  refuse(
      fmt::format("there are {} couplings and {} items of blocks; {} block columns and {} rows "
                  "of {} x {} have {} and {}",
                  a.couplings.size(), a.blocks.size(), num_columns, num_rows, block, block,
                  num_columns, num_rows * block * block));
}

void check(const Given& a, int rank) {
  const auto num_rows = a.rows.num_items(rank);
  const auto global_rows = a.rows.global_extents()[0];
  if (std::ssize(a.row_starts) != num_rows + 1) {
    refuse(fmt::format("there are {} row_starts; the {} block rows of the layout need {}",
                       a.row_starts.size(), num_rows, num_rows + 1));
  }
  if (a.row_starts.front() != 0 || a.row_starts.back() != std::ssize(a.columns)) {
    refuse(
        fmt::format("row_starts goes from {} to {}; it must go from 0 to the number of block "
                    "columns, {}",
                    a.row_starts.front(), a.row_starts.back(), a.columns.size()));
  }
  const auto block = static_cast<std::size_t>(a.block);
  if (a.coupled != nullptr) {
    check_coupled(*a.coupled, block, a.columns.size(), a.row_starts.size() - 1);
  } else if (a.values.size() != a.columns.size() * block * block) {
    refuse(fmt::format("there are {} values; {} blocks of {} x {} have {}", a.values.size(),
                       a.columns.size(), block, block, a.columns.size() * block * block));
  }
  if (num_rows * a.block > std::numeric_limits<std::int32_t>::max()) {
    refuse(
        fmt::format("this rank has {} rows; at most 2147483647 are possible", num_rows * a.block));
  }
  check_columns(a, num_rows, global_rows);
}

/// Blocks of some block rows, and where each block's values come from.
struct Part {
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int32_t> columns;
  std::vector<std::size_t> from;  ///< block of the caller's

  void add_row(std::vector<std::pair<std::int32_t, std::size_t>>& row) {
    std::ranges::sort(row);
    for (const auto& [column, k] : row) {
      columns.push_back(column);
      from.push_back(k);
    }
    row_starts.push_back(std::ssize(columns));
    row.clear();
  }
  std::ptrdiff_t num_rows() const { return std::ssize(row_starts) - 1; }
  std::vector<double> blocks(std::span<const double> values, std::size_t items) const {
    std::vector<double> taken(from.size() * items);
    for (std::size_t k = 0; k < from.size(); ++k) {
      std::copy_n(values.data() + from[k] * items, items, taken.data() + k * items);
    }
    return taken;
  }
  /// Calls visit(row, column, value) for each item of the blocks, row by row.
  template <class Visit>
  void for_each_item(const std::vector<double>& blocks, std::size_t b, Visit visit) const {
    for (std::size_t row = 0; row + 1 < row_starts.size(); ++row) {
      for (std::size_t r = 0; r < b; ++r) {
        for (auto k = static_cast<std::size_t>(row_starts[row]);
             k < static_cast<std::size_t>(row_starts[row + 1]); ++k) {
          for (std::size_t c = 0; c < b; ++c) {
            visit(row * b + r, static_cast<std::size_t>(columns[k]) * b + c,
                  blocks[(k * b + r) * b + c]);
          }
        }
      }
    }
  }
  Matrix matrix(std::ptrdiff_t num_columns, const std::vector<double>& blocks, std::size_t b,
                const MatrixOptions& options) const {
    std::vector<std::int64_t> starts(static_cast<std::size_t>(num_rows()) * b + 1, 0);
    std::vector<std::int64_t> indices;
    std::vector<double> values;
    indices.reserve(blocks.size());
    values.reserve(blocks.size());
    for_each_item(blocks, b, [&](std::size_t row, std::size_t column, double value) {
      ++starts[row + 1];
      indices.push_back(static_cast<std::int64_t>(column));
      values.push_back(value);
    });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    return {num_columns, std::span<const std::int64_t>(starts), indices, values, options};
  }
  void set_values(Matrix& matrix, const std::vector<double>& blocks, std::size_t b) const {
    if (b == 1) return matrix.set_values(blocks);
    std::vector<double> values;
    values.reserve(blocks.size());
    for_each_item(blocks, b,
                  [&](std::size_t, std::size_t, double value) { values.push_back(value); });
    matrix.set_values(values);
  }
};

}  // namespace

class DistMatrix::State {
 public:
  State(const Comm& comm, const Given& a, const DistMatrixOptions& options)
      : comm_(comm.duplicate()),
        block_(static_cast<std::size_t>(std::max(1, a.block))),
        coupled_(a.coupled != nullptr) {
    agree_on_sizes(a);
    run_agreed_sparse(comm_.raw(), [&] {
      check(a, comm_.rank());
      own_rows_.emplace(a.rows, comm_.rank());
      find_halo_columns(a);
    });
    halo_.emplace(comm_, a.rows, *own_rows_, halo_columns_, a.block, options.halo_method);
    run_agreed_sparse(comm_.raw(), [&] { store(a, options.local); });
  }

  void set_values(std::span<const double> values) {
    run_agreed_sparse(comm_.raw(), [&] {
      if (coupled_) refuse("it was created from coupled values; set_values needs coupled values");
      if (values.size() != num_blocks_ * block_ * block_) {
        refuse(fmt::format("there are {} values; the structure has {}", values.size(),
                           num_blocks_ * block_ * block_));
      }
      own_blocks_ = own_.blocks(values, block_ * block_);
      own_.set_values(*own_matrix_, own_blocks_, block_);
      if (halo_matrix_) {
        outer_.set_values(*halo_matrix_, outer_.blocks(values, block_ * block_), block_);
      }
    });
  }

  void set_values(const CoupledValues& values) {
    run_agreed_sparse(comm_.raw(), [&] {
      if (!coupled_) refuse("it was created from plain blocks; set_values needs plain blocks");
      check_coupled(values, block_, num_blocks_, static_cast<std::size_t>(num_local_rows()));
      take(values);
    });
  }

  void check_lengths(std::size_t x, std::size_t y) const {
    const bool right = static_cast<std::ptrdiff_t>(x) == num_local_items() && x == y;
    if (true_on_all(comm_, right)) return;
    require_all(comm_.raw(), right,
                fmt::format("DistMatrix: x has {} items and y {}; this rank has {} of a vector", x,
                            y, num_local_items()));
  }

  void multiply(std::span<const double> x, std::span<double> y) {
    halo_->start(x.data());
    if (coupled_) {
      kernels_->coupled[block_](arrays(), x.data(), y.data());
    } else {
      own_matrix_->multiply(x, y);
    }
    halo_->finish();
    if (coupled_) return add_coupled_halo(y);
    if (!halo_matrix_) return;
    halo_matrix_->multiply(halo_->items(), outer_y_);
    for (std::size_t i = 0; i < outer_rows_.size(); ++i) {
      for (std::size_t r = 0; r < block_; ++r) {
        y[outer_rows_[i] * block_ + r] += outer_y_[i * block_ + r];
      }
    }
  }

  const Comm& comm() const { return comm_; }
  int block() const { return static_cast<int>(block_); }
  std::ptrdiff_t num_local_rows() const { return own_.num_rows(); }
  std::ptrdiff_t num_local_items() const {
    return num_local_rows() * static_cast<std::ptrdiff_t>(block_);
  }
  std::ptrdiff_t num_global_rows() const { return global_rows_; }
  Diagonal local_diagonal() const {
    return {own_.row_starts, own_.columns, own_blocks_, {cells_.data(), cells_.size()}};
  }
  std::ptrdiff_t num_halo_columns() const { return std::ssize(halo_columns_); }
  std::ptrdiff_t halo_bytes() const {
    return halo_->num_sent_blocks() * static_cast<std::ptrdiff_t>(block_ * sizeof(double));
  }
  std::string describe() const {
    auto text = fmt::format("blocks of {0} x {0}; own columns: {1}", block_,
                            coupled_ ? "coupled by numbers" : own_matrix_->storage());
    if (halo_matrix_) text += fmt::format("; halo: {}", halo_matrix_->storage());
    return text + fmt::format("; exchange: {}", halo_->method());
  }

 private:
  void agree_on_sizes(const Given& a) {
    const bool right =
        a.block >= 1 && a.rows.num_dims() == 1 && a.rows.num_ranks() == comm_.num_ranks();
    require_all(comm_.raw(), right,
                fmt::format("DistMatrix: block is {}, the layout has {} axes and {} ranks; block "
                            "must be at least 1, and the layout of one axis and {} ranks",
                            a.block, a.rows.num_dims(), a.rows.num_ranks(), comm_.num_ranks()));
    global_rows_ = a.rows.global_extents()[0];
    const std::array arguments{CommonArgument{"block", std::to_string(a.block)},
                               CommonArgument{"block rows", std::to_string(global_rows_)}};
    require_same(comm_, "DistMatrix", arguments);
    std::int64_t rows = a.rows.num_items(comm_.rank());
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &rows, 1, MPI_INT64_T, MPI_SUM, comm_.raw()));
    require_all(comm_.raw(), rows == global_rows_,
                fmt::format("DistMatrix: the ranks have {} of {} block rows; each must be on one "
                            "rank",
                            rows, global_rows_));
  }

  void find_halo_columns(const Given& a) {
    for (const auto column : a.columns) {
      if (own_rows_->place(column) < 0) halo_columns_.push_back(column);
    }
    std::ranges::sort(halo_columns_);
    const auto rest = std::ranges::unique(halo_columns_);
    halo_columns_.erase(rest.begin(), rest.end());
  }

  void store(const Given& a, const MatrixOptions& options) {
    num_blocks_ = a.columns.size();
    std::vector<std::pair<std::int32_t, std::size_t>> own_row, outer_row;
    for (std::size_t row = 0; row + 1 < a.row_starts.size(); ++row) {
      for (auto k = static_cast<std::size_t>(a.row_starts[row]);
           k < static_cast<std::size_t>(a.row_starts[row + 1]); ++k) {
        const auto place = own_rows_->place(a.columns[k]);
        if (place >= 0) {
          own_row.emplace_back(static_cast<std::int32_t>(place), k);
        } else {
          const auto found = std::ranges::lower_bound(halo_columns_, a.columns[k]);
          const auto number = static_cast<std::size_t>(found - halo_columns_.begin());
          outer_row.emplace_back(halo_->places()[number], k);
        }
      }
      own_.add_row(own_row);
      if (outer_row.empty()) continue;
      outer_rows_.push_back(row);
      outer_.add_row(outer_row);
    }
    if (coupled_) return take(*a.coupled);
    own_blocks_ = own_.blocks(a.values, block_ * block_);
    own_matrix_.emplace(own_.matrix(num_local_items(), own_blocks_, block_, options));
    if (outer_rows_.empty()) return;
    auto outer_options = options;
    outer_options.format = "auto";
    halo_matrix_.emplace(outer_.matrix(std::ssize(halo_->items()),
                                       outer_.blocks(a.values, block_ * block_), block_,
                                       outer_options));
    outer_y_.resize(outer_rows_.size() * block_);
  }

  void take(const CoupledValues& a) {
    own_blocks_ = own_.blocks(a.couplings, 1);
    outer_blocks_ = outer_.blocks(a.couplings, 1);
    if (cells_.size() != a.blocks.size()) cells_ = Aligned<double>(a.blocks.size());
    for (std::size_t first = 0; first < a.blocks.size(); first += block_ * block_) {
      for (std::size_t i = 0; i < block_ * block_; ++i) {
        cells_[first + i % block_ * block_ + i / block_] = a.blocks[first + i];
      }
    }
  }
  CoupledArrays arrays() const {
    return {own_.row_starts.data(), own_.columns.data(), own_blocks_.data(), cells_.data(),
            own_.num_rows()};
  }
  void add_coupled_halo(std::span<double> y) const {
    const auto items = halo_->items();
    for (std::size_t i = 0; i < outer_rows_.size(); ++i) {
      for (auto k = static_cast<std::size_t>(outer_.row_starts[i]);
           k < static_cast<std::size_t>(outer_.row_starts[i + 1]); ++k) {
        const auto column = static_cast<std::size_t>(outer_.columns[k]);
        for (std::size_t r = 0; r < block_; ++r) {
          y[outer_rows_[i] * block_ + r] += outer_blocks_[k] * items[column * block_ + r];
        }
      }
    }
  }

  Comm comm_;
  std::size_t block_;
  bool coupled_;
  const Kernels* kernels_ = &kernels_up_to(InstructionSet::avx512);
  std::ptrdiff_t global_rows_ = 0;
  std::size_t num_blocks_ = 0;  ///< of this rank's rows
  std::optional<OwnRows> own_rows_;
  std::vector<std::int64_t> halo_columns_;
  std::optional<Halo> halo_;
  Part own_, outer_;
  std::vector<std::size_t> outer_rows_;  ///< block rows that have halo columns
  std::vector<double> own_blocks_;       ///< or couplings
  std::vector<double> outer_blocks_;     ///< couplings
  Aligned<double> cells_;                ///< of coupled values, each block in column order
  std::optional<Matrix> own_matrix_, halo_matrix_;
  std::vector<double> outer_y_;
};

DistMatrix::DistMatrix(const Comm& comm, const Layout& rows, int block,
                       std::span<const std::int64_t> row_starts,
                       std::span<const std::int64_t> block_columns, std::span<const double> values,
                       const DistMatrixOptions& options)
    : state_(std::make_unique<State>(
          comm, Given{rows, block, row_starts, block_columns, values, nullptr}, options)) {}
DistMatrix::DistMatrix(const Comm& comm, const Layout& rows, int block,
                       std::span<const std::int64_t> row_starts,
                       std::span<const std::int64_t> block_columns, const CoupledValues& values,
                       const DistMatrixOptions& options)
    : state_(std::make_unique<State>(
          comm, Given{rows, block, row_starts, block_columns, {}, &values}, options)) {}
DistMatrix::~DistMatrix() = default;

void DistMatrix::set_values(std::span<const double> values) { state_->set_values(values); }
void DistMatrix::set_values(const CoupledValues& values) { state_->set_values(values); }
void DistMatrix::multiply(std::span<const double> x, std::span<double> y) {
  state_->check_lengths(x.size(), y.size());
  state_->multiply(x, y);
}
void DistMatrix::multiply_unchecked(std::span<const double> x, std::span<double> y) {
  state_->multiply(x, y);
}
const Comm& DistMatrix::comm() const { return state_->comm(); }
int DistMatrix::block() const { return state_->block(); }
std::ptrdiff_t DistMatrix::num_local_rows() const { return state_->num_local_rows(); }
std::ptrdiff_t DistMatrix::num_local_items() const { return state_->num_local_items(); }
std::ptrdiff_t DistMatrix::num_global_rows() const { return state_->num_global_rows(); }
DistMatrix::Diagonal DistMatrix::local_diagonal() const { return state_->local_diagonal(); }
std::ptrdiff_t DistMatrix::num_halo_columns() const { return state_->num_halo_columns(); }
std::ptrdiff_t DistMatrix::halo_bytes() const { return state_->halo_bytes(); }
std::string DistMatrix::describe() const { return state_->describe(); }

}  // namespace tailrace::sparse
