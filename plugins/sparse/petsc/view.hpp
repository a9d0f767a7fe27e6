// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// PETSc's own arrays of a matrix or factor.
#include <cstddef>

#include <petscmat.h>

namespace tailrace::petsc {

/// Rows and items of SeqAIJ, or block rows and blocks (each column by column) of SeqBAIJ.
struct View {
  PetscInt rows = 0;
  const PetscInt* starts = nullptr;
  const PetscInt* columns = nullptr;
  const PetscScalar* values = nullptr;
  PetscInt block = 1;

  std::size_t block_items() const { return static_cast<std::size_t>(block * block); }
};

/// How many blocks or items L and U have: row 0 of U is the last in the array.
inline std::ptrdiff_t num_factor_blocks(const View& view) {
  PetscInt at = view.starts[view.rows];
  for (PetscInt row = view.rows; row-- > 0; ++at) {
    while (view.columns[at] != row) ++at;
  }
  return at;
}

/// Calls `use(view)`, or `otherwise()` where PETSc does not show them. Neither may throw.
template <class Use, class Otherwise>
PetscErrorCode with_view(Mat a, Use use, Otherwise otherwise) {
  View view;
  PetscBool done = PETSC_FALSE;
  PetscBool blocks = PETSC_FALSE;
  PetscScalar* values = nullptr;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), MATSEQBAIJ, &blocks));
  if (blocks == PETSC_TRUE) PetscCall(MatGetBlockSize(a, &view.block));
  PetscCall(MatGetRowIJ(a, 0, PETSC_FALSE, blocks, &view.rows, &view.starts, &view.columns, &done));
  if (done == PETSC_FALSE) {
    otherwise();
    PetscFunctionReturn(PetscErrorCode(0));
  }
  if (blocks == PETSC_TRUE) {
    PetscCall(MatSeqBAIJGetArray(a, &values));
    view.values = values;
  } else {
    PetscCall(MatSeqAIJGetArrayRead(a, &view.values));
  }
  use(view);
  if (blocks == PETSC_TRUE) {
    PetscCall(MatSeqBAIJRestoreArray(a, &values));
  } else {
    PetscCall(MatSeqAIJRestoreArrayRead(a, &view.values));
  }
  PetscCall(
      MatRestoreRowIJ(a, 0, PETSC_FALSE, blocks, &view.rows, &view.starts, &view.columns, &done));
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace tailrace::petsc
