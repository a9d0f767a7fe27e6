// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <petscmat.h>

namespace tailrace::petsc {

/// What was done for PETSc's arrays, in bytes; how much of it the system granted it does not tell.
struct HugePages {
  double taken = 0;  ///< asked for before the first write
  double moved = 0;  ///< asked for later, as the array was read often
};

/// From now on PETSc's large arrays are allocated in huge pages; until `stop_huge_pages`.
PetscErrorCode use_huge_pages();
HugePages stop_huge_pages();

/// Of a new, empty SeqBAIJ matrix: its arrays, too.
PetscErrorCode take_over_preallocation(Mat a);

/// While it exists, what PETSc allocates is written as a whole soon, as the values of a matrix are;
/// of vectors, which it clears, that is known.
class WrittenAsWhole {
 public:
  WrittenAsWhole();
  ~WrittenAsWhole();
  WrittenAsWhole(const WrittenAsWhole&) = delete;
  WrittenAsWhole& operator=(const WrittenAsWhole&) = delete;
};

/// Adds one to the reads of a matrix or factor in PETSc's own arrays, and moves these to huge pages
/// when there were so many that it pays.
PetscErrorCode add_read(Mat a, int& reads);

}  // namespace tailrace::petsc
