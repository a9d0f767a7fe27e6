// SPDX-License-Identifier: BSD-3-Clause
#include "sparse/coupled_incomplete_lu.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "sparse/instruction_set.hpp"

namespace tailrace::sparse {

CoupledIncompleteLu::CoupledIncompleteLu(int block, std::span<const std::int64_t> row_starts,
                                         std::span<const std::int32_t> columns,
                                         InstructionSet highest)
    : block_(block),
      kernels_(&kernels_up_to(highest)),
      row_starts_(row_starts),
      columns_(columns),
      mirror_(columns.size(), -1),
      mirrored_(columns.size(), 0.0),
      inverses_((row_starts.size() - 1) * static_cast<std::size_t>(block * block)) {
  for (std::size_t row = 0; row + 1 < row_starts.size(); ++row) {
    for (auto k = row_starts[row]; k < row_starts[row + 1]; ++k) {
      const auto above = static_cast<std::size_t>(columns[static_cast<std::size_t>(k)]);
      if (above >= row) break;
      const auto begin = columns.begin() + row_starts[above];
      const auto end = columns.begin() + row_starts[above + 1];
      const auto found = std::lower_bound(begin, end, static_cast<std::int32_t>(row));
      if (found == end || *found != static_cast<std::int32_t>(row)) continue;
      mirror_[static_cast<std::size_t>(k)] = found - columns.begin();
    }
  }
}

CoupledArrays CoupledIncompleteLu::arrays(const double* couplings, const double* blocks) const {
  return {row_starts_.data(), columns_.data(), couplings, blocks, std::ssize(row_starts_) - 1};
}

void CoupledIncompleteLu::factor(const double* couplings, const double* blocks) {
  for (std::size_t k = 0; k < mirror_.size(); ++k) {
    if (mirror_[k] >= 0) mirrored_[k] = couplings[mirror_[k]];
  }
  const auto all = arrays(couplings, blocks);
  const auto row = kernels_->coupled_factor[block_](all, mirrored_.data(), inverses_.data());
  if (row == all.rows) return;
  throw std::domain_error(
      "sparse: ILU(0) has a singular or infinite block on the diagonal of block row " +
      std::to_string(row) + "; reorder the rows, or add something to the diagonal");
}

void CoupledIncompleteLu::solve(const double* couplings, const double* b, double* x) const {
  kernels_->coupled_solve[block_](arrays(couplings, inverses_.data()), b, x);
}

}  // namespace tailrace::sparse
