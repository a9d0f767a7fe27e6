// SPDX-License-Identifier: BSD-3-Clause
#include "sparse/check.hpp"

#include <limits>
#include <stdexcept>

namespace tailrace::sparse {

void refuse(const std::string& text) { throw std::invalid_argument("sparse: " + text); }
std::string words(std::int64_t number) { return std::to_string(number); }

namespace {

template <class Index>
void check_starts(std::span<const Index> starts, std::size_t num_columns, std::size_t num_values) {
  if (starts.empty()) refuse("row_starts is empty; it must have one item more than there are rows");
  if (starts.front() != 0) refuse("row_starts[0] is " + words(starts.front()) + "; it must be 0");
  if (starts.size() - 1 > std::numeric_limits<std::int32_t>::max()) {
    refuse("there are " + words(static_cast<std::int64_t>(starts.size() - 1)) +
           " rows; at most 2147483647 are possible");
  }
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    if (starts[row + 1] < starts[row]) {
      refuse("row_starts falls from " + words(starts[row]) + " to " + words(starts[row + 1]) +
             " after row " + words(static_cast<std::int64_t>(row)));
    }
  }
  const auto items = static_cast<std::size_t>(starts.back());
  if (num_columns != items || num_values != items) {
    refuse("row_starts ends at " + words(starts.back()) + ", but there are " +
           words(static_cast<std::int64_t>(num_columns)) + " column indices and " +
           words(static_cast<std::int64_t>(num_values)) + " values");
  }
}

template <class Index>
void check_columns(std::ptrdiff_t columns, std::span<const Index> starts,
                   std::span<const Index> indices) {
  if (columns < 0 || columns > std::numeric_limits<std::int32_t>::max()) {
    refuse("columns is " + words(columns) + "; it must be from 0 to 2147483647");
  }
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    std::int64_t before = -1;
    for (auto k = starts[row]; k < starts[row + 1]; ++k) {
      const std::int64_t column = indices[static_cast<std::size_t>(k)];
      if (column <= before || column >= columns) {
        const auto text =
            "row " + words(static_cast<std::int64_t>(row)) + " has column " + words(column);
        if (column < 0 || column >= columns) {
          refuse(text + "; there are " + words(columns) + " columns");
        }
        if (column == before) refuse(text + " twice; add such items first");
        refuse(text + " after " + words(before) + "; columns must ascend within a row");
      }
      before = column;
    }
  }
}

}  // namespace

template <class Index>
CsrView checked(std::ptrdiff_t columns, std::span<const Index> row_starts,
                std::span<const Index> column_indices, std::span<const double> values) {
  check_starts(row_starts, column_indices.size(), values.size());
  check_columns(columns, row_starts, column_indices);
  const auto rows = static_cast<std::ptrdiff_t>(row_starts.size()) - 1;
  return {rows, columns, nullptr, nullptr, values.data()};
}

template CsrView checked(std::ptrdiff_t, std::span<const std::int32_t>,
                         std::span<const std::int32_t>, std::span<const double>);
template CsrView checked(std::ptrdiff_t, std::span<const std::int64_t>,
                         std::span<const std::int64_t>, std::span<const double>);

}  // namespace tailrace::sparse
