// SPDX-License-Identifier: BSD-3-Clause
// Factors of large blocks, for which PETSc calls BLAS block by block.
#include "factor.hpp"

#include <algorithm>
#include <exception>

#include <petsc/private/matimpl.h>  // that a factor is assembled

#include "tailrace/more/block_incomplete_lu.hpp"

namespace tailrace::petsc {

namespace {

/// PETSc's solves with factors of blocks like those of `a`, which it chooses when it factors: asked
/// of a matrix of one block.
PetscErrorCode find_petsc_solves(Mat a, MatSolverFunction create, Operation* solve,
                                 Operation* transposed) {
  PetscInt block = 1;
  Mat one = nullptr;
  Mat factor = nullptr;
  IS order = nullptr;
  Operation found = nullptr;
  MatFactorInfo info;
  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(a, &block));
  PetscCall(MatCreateSeqBAIJ(PETSC_COMM_SELF, block, block, block, 1, nullptr, &one));
  for (PetscInt i = 0; i < block; ++i) PetscCall(MatSetValue(one, i, i, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(one, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(one, MAT_FINAL_ASSEMBLY));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, block, 0, 1, &order));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(create(one, MAT_FACTOR_ILU, &factor));
  PetscCall(MatGetOperation(factor, MATOP_ILUFACTOR_SYMBOLIC, &found));
  PetscCall(reinterpret_cast<SymbolicCall>(found)(factor, one, order, order, &info));
  PetscCall(MatGetOperation(factor, MATOP_LUFACTOR_NUMERIC, &found));
  PetscCall(reinterpret_cast<NumericCall>(found)(factor, one, &info));
  PetscCall(MatGetOperation(factor, MATOP_SOLVE, solve));
  PetscCall(MatGetOperation(factor, MATOP_SOLVE_TRANSPOSE, transposed));
  PetscCall(ISDestroy(&order));
  PetscCall(MatDestroy(&factor));
  PetscCall(MatDestroy(&one));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Fills PETSc's arrays with factors of so many `items`, or of none.
PetscErrorCode factor_in_place(Mat f, Mat a, std::ptrdiff_t* items) {
  PetscFunctionBegin;
  *items = 0;
  const auto factor = [&](const View& of_f, const View& of_a) {
    try {
      const Triangles rows(of_f);
      const bool good = sparse::factor_blocks(static_cast<int>(of_f.block), of_a.starts,
                                              of_a.columns, of_a.values, rows.lower, rows.upper,
                                              of_f.columns, const_cast<double*>(of_f.values));
      if (good) *items = rows.num_blocks * static_cast<std::ptrdiff_t>(of_f.block_items());
    } catch (const std::exception&) {  // no memory
    }
  };
  PetscErrorCode inner = PetscErrorCode(0);
  PetscCall(with_view(
      f,
      [&](const View& of_f) {
        inner = with_view(
            a, [&](const View& of_a) { factor(of_f, of_a); }, [] {});
      },
      [] {}));
  PetscCall(inner);
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Whether blocks are large, and PETSc is asked for nothing else.
PetscErrorCode may_factor(Mat a, const MatFactorInfo* info, bool* may) {
  constexpr PetscInt least_block = 8;
  PetscBool blocks = PETSC_FALSE;
  PetscInt block = 1;
  PetscInt rows = 0;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), MATSEQBAIJ, &blocks));
  PetscCall(MatGetBlockSize(a, &block));
  PetscCall(MatGetLocalSize(a, &rows, nullptr));
  *may = blocks == PETSC_TRUE && block >= least_block &&
         block <= sparse::BlockIncompleteLu::largest_block &&
         info->shifttype == static_cast<PetscReal>(MAT_SHIFT_NONE) &&
         rows * block >= options().least_items;
  PetscFunctionReturn(PetscErrorCode(0));
}

void note(Factorisations& to, PetscInt rows, std::ptrdiff_t items, double time_s) {
  if (!to.record) {
    to.record = new_record("MatLUFactorNum");
    to.record->rows = rows;
    to.record->items = items;
    to.record->storage = "in PETSc's blocks";
  }
  ++to.number;
  ++to.record->ours;
  to.record->ours_s = std::min(to.record->ours_s, time_s);
}

}  // namespace

PetscErrorCode factor_by_ours(Mat f, Mat a, const MatFactorInfo* info, MatSolverFunction create,
                              Factorisations& to, bool* done) {
  PetscInt block = 1;
  PetscInt rows = 0;
  std::ptrdiff_t items = 0;
  Operation solve = nullptr;
  Operation transposed = nullptr;
  PetscFunctionBegin;
  *done = false;
  if (!to.ours_is_due()) PetscFunctionReturn(PetscErrorCode(0));
  PetscCall(may_factor(a, info, &to.possible));
  if (!to.possible) PetscFunctionReturn(PetscErrorCode(0));
  PetscCall(find_petsc_solves(a, create, &solve, &transposed));
  const double start = cpu_s();
  PetscCall(factor_in_place(f, a, &items));
  *done = items > 0;
  to.possible = *done;  // PETSc says what is wrong with a block
  if (!*done) PetscFunctionReturn(PetscErrorCode(0));
  f->assembled = PETSC_TRUE;
  f->factorerrortype = MAT_FACTOR_NOERROR;
  PetscCall(MatSetOperation(f, MATOP_SOLVE, solve));
  PetscCall(MatSetOperation(f, MATOP_SOLVE_TRANSPOSE, transposed));
  PetscCall(MatGetBlockSize(a, &block));
  PetscCall(MatGetLocalSize(a, &rows, nullptr));
  const auto size = static_cast<PetscLogDouble>(block);
  PetscCall(PetscLogFlops(4.0 / 3 * size * size * static_cast<PetscLogDouble>(rows)));  // as PETSc
  note(to, rows, items, cpu_s() - start);
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace tailrace::petsc
