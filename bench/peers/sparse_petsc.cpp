// SPDX-License-Identifier: BSD-3-Clause
#include <petscmat.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "../sparse_peer.hpp"

namespace bench {

namespace {

void check(PetscErrorCode code) {
  if (code == 0) return;
  std::fprintf(stderr, "PETSc failed with error %d\n", static_cast<int>(code));
  std::exit(1);
}

/// A matrix of PETSc and two vectors without memory of their own.
struct Aij {
  std::vector<PetscInt> starts, columns;
  std::vector<PetscScalar> values;
  Mat matrix = nullptr;
  Vec x = nullptr;
  Vec y = nullptr;

  explicit Aij(const SparseMatrix& a)
      : starts(a.row_starts.begin(), a.row_starts.end()),
        columns(a.columns.begin(), a.columns.end()),
        values(a.values.begin(), a.values.end()) {
    PetscBool up = PETSC_FALSE;
    check(PetscInitialized(&up));
    if (up == PETSC_FALSE) check(PetscInitializeNoArguments());
    const auto n = static_cast<PetscInt>(a.rows);
    check(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, starts.data(), columns.data(),
                                    values.data(), &matrix));
    check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, nullptr, &x));
    check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, nullptr, &y));
  }
};

}  // namespace

SparsePeer sparse_petsc(const SparseMatrix& a) {
  // Kept to the end of the program, as PETSc is not finalized.
  auto* kept = new Aij(a);
  return {"PETSc AIJ", [kept](const double* x, double* y) {
            check(VecPlaceArray(kept->x, x));
            check(VecPlaceArray(kept->y, y));
            check(MatMult(kept->matrix, kept->x, kept->y));
            check(VecResetArray(kept->x));
            check(VecResetArray(kept->y));
          }};
}

SparsePeer sparse_petsc_ilu(const SparseMatrix& a) {
  auto* kept = new Aij(a);
  Mat factors = nullptr;
  IS rows = nullptr;
  IS columns = nullptr;
  MatFactorInfo info{};
  check(MatFactorInfoInitialize(&info));
  info.fill = 1;
  check(MatGetOrdering(kept->matrix, MATORDERINGNATURAL, &rows, &columns));
  check(MatGetFactor(kept->matrix, MATSOLVERPETSC, MAT_FACTOR_ILU, &factors));
  check(MatILUFactorSymbolic(factors, kept->matrix, rows, columns, &info));
  check(MatLUFactorNumeric(factors, kept->matrix, &info));
  return {"PETSc MatSolve", [kept, factors](const double* b, double* x) {
            check(VecPlaceArray(kept->x, b));
            check(VecPlaceArray(kept->y, x));
            check(MatSolve(factors, kept->x, kept->y));
            check(VecResetArray(kept->x));
            check(VecResetArray(kept->y));
          }};
}

}  // namespace bench
