// SPDX-License-Identifier: BSD-3-Clause
// ICC(0): L D L^T on the places of A's lower triangle (Meijerink and van der Vorst, Math. Comp. 31
// (1977) 148). Where a pivot is not above zero the diagonal grows by a factor, and all begins again
// (Manteuffel, Math. Comp. 34 (1980) 473), as an indefinite preconditioner ends conjugate
// gradients. The factors are told as L and U = D L^T, so that solves have the schedules of ILU(0).
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "sparse/check.hpp"
#include "sparse/lu_solver.hpp"

namespace tailrace::sparse {

namespace {

constexpr double first_shift = 1e-3;
constexpr double largest_shift = 1e9;
constexpr double least_pivot = 0x1p-26;  // of the diagonal's item

[[noreturn]] void refuse_row(std::size_t row, const std::string& text) {
  throw std::domain_error("sparse: ICC(0): row " + std::to_string(row) + text);
}

/// The lower triangle; each row ends with the diagonal's item.
Csr lower_triangle(const Csr& a, const Diagonal& diagonal) {
  Csr lower{a.rows, a.rows, {0}, {}, {}};
  for (std::size_t row = 0; row < diagonal.size(); ++row) {
    for (auto k = a.row_starts[row]; k <= diagonal[row]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (!std::isfinite(a.values[at])) {
        refuse_row(row, " has " + std::to_string(a.values[at]) + "; items must be finite");
      }
      lower.column_indices.push_back(a.column_indices[at]);
      lower.values.push_back(a.values[at]);
    }
    if (!(lower.values.back() > 0)) {
      refuse_row(row, " has " + std::to_string(lower.values.back()) +
                          " on the diagonal; those of a positive definite matrix are above 0");
    }
    lower.row_starts.push_back(std::ssize(lower.values));
  }
  return lower;
}

/// Overwrites the lower triangle by L (its ones left out) and D; false at a pivot too small.
bool factor(Csr& f, double shift) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(f.rows), -1);  // of this row's columns
  double* values = f.values.data();
  const std::int32_t* columns = f.column_indices.data();
  for (std::size_t row = 0; row < place.size(); ++row) {
    const auto begin = f.row_starts[row];
    const auto end = f.row_starts[row + 1] - 1;
    for (auto k = begin; k < end; ++k) place[static_cast<std::size_t>(columns[k])] = k;
    double pivot = values[end] * (1 + shift);
    const double least = least_pivot * pivot;
    for (auto k = begin; k < end; ++k) {  // values[k] becomes L_ik D_k, then L_ik
      const auto above = static_cast<std::size_t>(columns[k]);
      const auto above_end = f.row_starts[above + 1] - 1;
      for (auto j = f.row_starts[above]; j < above_end; ++j) {
        const auto at = place[static_cast<std::size_t>(columns[j])];
        if (at >= 0) values[k] -= values[at] * values[j];
      }
    }
    for (auto k = begin; k < end; ++k) {
      const auto above = static_cast<std::size_t>(columns[k]);
      const double scaled = values[k] / values[f.row_starts[above + 1] - 1];
      pivot -= values[k] * scaled;
      values[k] = scaled;
      place[above] = -1;
    }
    if (!(pivot > least) || !std::isfinite(pivot)) return false;
    values[end] = pivot;
  }
  return true;
}

/// L and D L^T in one matrix.
Csr with_upper(const Csr& lower) {
  const auto n = static_cast<std::size_t>(lower.rows);
  Csr both{lower.rows, lower.rows, std::vector<std::int64_t>(n + 1, 0), {}, {}};
  for (std::size_t row = 0; row < n; ++row) {
    both.row_starts[row + 1] += lower.row_starts[row + 1] - lower.row_starts[row];
    for (auto k = lower.row_starts[row]; k < lower.row_starts[row + 1] - 1; ++k) {
      ++both.row_starts[static_cast<std::size_t>(
                            lower.column_indices[static_cast<std::size_t>(k)]) +
                        1];
    }
  }
  for (std::size_t row = 0; row < n; ++row) both.row_starts[row + 1] += both.row_starts[row];
  both.column_indices.resize(static_cast<std::size_t>(both.row_starts[n]));
  both.values.resize(both.column_indices.size());
  auto next = both.row_starts;
  const auto put = [&](std::size_t row, std::size_t column, double value) {
    const auto to = static_cast<std::size_t>(next[row]++);
    both.column_indices[to] = static_cast<std::int32_t>(column);
    both.values[to] = value;
  };
  // Columns of a row ascend: its own items come when the row is met, those above it later.
  for (std::size_t row = 0; row < n; ++row) {
    for (auto k = lower.row_starts[row]; k < lower.row_starts[row + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const auto column = static_cast<std::size_t>(lower.column_indices[at]);
      put(row, column, lower.values[at]);
      if (column == row) continue;
      const auto pivot = static_cast<std::size_t>(lower.row_starts[column + 1] - 1);
      put(column, row, lower.values[pivot] * lower.values[at]);
    }
  }
  return both;
}

}  // namespace

Csr factor_symmetric(const Csr& a, const Diagonal& diagonal, double& shift) {
  const Csr lower = lower_triangle(a, diagonal);
  for (shift = 0; shift <= largest_shift; shift = shift == 0 ? first_shift : 2 * shift) {
    Csr factors = lower;
    if (factor(factors, shift)) return with_upper(factors);
  }
  throw std::domain_error("sparse: ICC(0) found no shift of the diagonal below " +
                          std::to_string(largest_shift) + " with pivots above 0");
}

}  // namespace tailrace::sparse
