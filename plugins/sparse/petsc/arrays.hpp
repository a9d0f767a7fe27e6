// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A copy of values is right while only PETSc can change them, as PETSc counts its own changes in
// the state of the matrix. A program that has a pointer to the values changes them without a word.
#include <petscmat.h>

namespace tailrace::petsc {

/// Finds where a SeqAIJ matrix keeps the functions that give its values to a caller. Not `found`:
/// this PETSc has none, so no copy of values can be trusted.
PetscErrorCode find_array_calls(bool* found);

/// Watches a new SeqAIJ matrix, unless the program provides its arrays.
PetscErrorCode watch_values(Mat a);

/// Whether nothing but PETSc can have a pointer to the values of `a`, by which it may write: true
/// until the program takes one, then false for good. Of a matrix that is watched or not; cheap.
bool only_petsc_writes(Mat a);

}  // namespace tailrace::petsc
