// SPDX-License-Identifier: BSD-3-Clause
#include <petscksp.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../sparse_other.hpp"

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

std::vector<SparsePeer> sparse_petsc_types(const SparseMatrix& a, int block) {
  std::vector<SparsePeer> found;
  for (const char* type : {MATSEQSELL, MATSEQAIJPERM, MATSEQBAIJ}) {
    const bool blocks = std::string(type) == MATSEQBAIJ;
    if (blocks && block < 2) continue;
    auto* kept = new Aij(a);
    Mat other = nullptr;
    if (blocks) check(MatSetBlockSize(kept->matrix, block));
    check(MatConvert(kept->matrix, type, MAT_INITIAL_MATRIX, &other));
    kept->matrix = other;
    found.push_back({std::string("PETSc ") + type, [kept](const double* x, double* y) {
                       check(VecPlaceArray(kept->x, x));
                       check(VecPlaceArray(kept->y, y));
                       check(MatMult(kept->matrix, kept->x, kept->y));
                       check(VecResetArray(kept->x));
                       check(VecResetArray(kept->y));
                     }});
  }
  return found;
}

SparseSolver sparse_petsc_cg(const SparseMatrix& a, const std::string& preconditioner) {
  auto* kept = new Aij(a);
  const bool jacobi = preconditioner == "jacobi";
  return {"PETSc", [kept, jacobi](const double* b, double* x) {
            KSP solver = nullptr;
            PC m = nullptr;
            PetscInt iterations = 0;
            check(VecPlaceArray(kept->x, b));
            check(VecPlaceArray(kept->y, x));
            check(KSPCreate(PETSC_COMM_SELF, &solver));
            check(KSPSetOperators(solver, kept->matrix, kept->matrix));
            check(KSPSetType(solver, KSPCG));
            check(KSPSetNormType(solver, KSP_NORM_UNPRECONDITIONED));
            check(KSPSetTolerances(solver, sparse_tolerance, 0, PETSC_DEFAULT, 10000));
            check(KSPGetPC(solver, &m));
            check(PCSetType(m, jacobi ? PCJACOBI : PCICC));
            check(KSPSolve(solver, kept->x, kept->y));
            check(KSPGetIterationNumber(solver, &iterations));
            check(KSPDestroy(&solver));
            check(VecResetArray(kept->x));
            check(VecResetArray(kept->y));
            return static_cast<int>(iterations);
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
