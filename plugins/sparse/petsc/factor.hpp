// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "chooser/decide.hpp"
#include "plugin.hpp"
#include "tailrace/more/borrowed_blocks.hpp"
#include "view.hpp"

namespace tailrace::petsc {

using SymbolicCall = PetscErrorCode (*)(Mat, Mat, IS, IS, const MatFactorInfo*);
using NumericCall = PetscErrorCode (*)(Mat, Mat, const MatFactorInfo*);

/// Where the rows of L and U lie in PETSc's arrays.
struct Triangles {
  std::vector<sparse::BorrowedBlockFactors::Range> lower, upper;
  PetscInt num_blocks = 0;

  explicit Triangles(const View& view)
      : lower(static_cast<std::size_t>(view.rows)), upper(lower.size()) {
    PetscInt at = view.starts[view.rows];
    for (std::size_t row = lower.size(); row-- > 0;) {
      lower[row] = {view.starts[row], view.starts[row + 1]};
      upper[row][0] = at;
      while (view.columns[at] != static_cast<PetscInt>(row)) ++at;
      upper[row][1] = at++;
    }
    num_blocks = at;
  }
};

/// What is known of the factorisations with one structure: the first is ours, the second PETSc's,
/// then the faster goes on.
struct Factorisations {
  int number = 0;
  bool possible = true;
  std::shared_ptr<Record> record;  ///< once there was one of ours

  bool ours_is_due() const {
    const std::array both{record ? record->library_s : 0, record ? record->ours_s : 0};
    const bool lost =
        record && record->timed() && chooser::first_as_good(both, chooser::least_difference) == 0;
    return possible && (options().always || (number != 1 && !lost));
  }
  void add_library(double time_s) {
    ++number;
    if (!record) return;
    if (time_s < record->library_s) record->library_s = time_s;
    if (!ours_is_due()) record->storage.clear();
  }
};

/// MatLUFactorNumeric with blocks of 8 to 16 in natural order, in PETSc's arrays. `create` is
/// PETSc's, of factors of SeqBAIJ. Not `done`: PETSc has to do it.
PetscErrorCode factor_by_ours(Mat f, Mat a, const MatFactorInfo* info, MatSolverFunction create,
                              Factorisations& to, bool* done);

}  // namespace tailrace::petsc
