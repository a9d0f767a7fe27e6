// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "write_watch.hpp"

namespace tailrace::trilinos {

/// The three arrays of the program that hold a matrix, in CSR format.
class WatchedArrays {
 public:
  WatchedArrays(std::ptrdiff_t rows, const double* values, const int* columns,
                const int* row_starts)
      : rows_(rows),
        items_(rows > 0 ? row_starts[rows] : 0),
        values_(values),
        columns_(columns),
        row_starts_(row_starts) {}

  std::ptrdiff_t rows() const { return rows_; }
  std::ptrdiff_t items() const { return items_; }
  std::span<const double> values() const { return {values_, static_cast<std::size_t>(items_)}; }
  std::span<const int> columns() const { return {columns_, static_cast<std::size_t>(items_)}; }
  std::span<const int> row_starts() const {
    return {row_starts_, static_cast<std::size_t>(rows_) + 1};
  }

  bool are_at(const WatchedArrays& other) const {
    return values_ == other.values_ && columns_ == other.columns_ &&
           row_starts_ == other.row_starts_ && rows_ == other.rows_ && items_ == other.items_;
  }

  /// From now on changes are seen. False if that is not possible.
  bool watch_values() { return value_watch_.start(values_, values().size_bytes()); }
  bool watch_structure() {
    return column_watch_.start(columns_, columns().size_bytes()) &&
           row_start_watch_.start(row_starts_, row_starts().size_bytes());
  }
  bool structure_is_unchanged() const {
    return column_watch_.is_unchanged() && row_start_watch_.is_unchanged();
  }
  bool are_unchanged() const { return value_watch_.is_unchanged() && structure_is_unchanged(); }

 private:
  std::ptrdiff_t rows_, items_;
  const double* values_;
  const int* columns_;
  const int* row_starts_;
  WriteWatch value_watch_, column_watch_, row_start_watch_;
};

}  // namespace tailrace::trilinos
