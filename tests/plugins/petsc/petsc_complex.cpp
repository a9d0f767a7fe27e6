// SPDX-License-Identifier: BSD-3-Clause
// A program with PETSc's build for complex numbers, under a plug-in that was built for real ones:
// products and solves have to be PETSc's.
#include <cstdio>

#include <petscksp.h>

namespace {

constexpr PetscInt num_rows = 20000;

PetscErrorCode multiply(Mat a, Vec x, Vec y, PetscReal* error) {
  PetscFunctionBegin;
  PetscCall(VecSet(x, PETSC_i));
  for (int again = 0; again < 20; ++again) PetscCall(MatMult(a, x, y));
  PetscCall(VecShift(y, 1.0));  // i i + 1
  PetscCall(VecNorm(y, NORM_INFINITY, error));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode solve(Mat a, Vec b, Vec x, PetscInt* iterations) {
  KSP ksp = nullptr;
  PC pc = nullptr;
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCILU));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(VecSet(b, 1.0));
  *iterations = 0;
  for (int again = 0; again < 6; ++again) {
    PetscInt count = 0;
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &count));
    *iterations = PetscMax(*iterations, count);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode run(int* wrong) {
  Mat a = nullptr;
  Vec x = nullptr, y = nullptr;
  PetscReal error = 0;
  PetscInt iterations = 0;
  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, num_rows, num_rows, 1, nullptr, &a));
  for (PetscInt row = 0; row < num_rows; ++row) {
    PetscCall(MatSetValue(a, row, row, PETSC_i, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(a, &x, &y));
  PetscCall(multiply(a, x, y, &error));
  PetscCall(solve(a, x, y, &iterations));
  *wrong = (error == 0 ? 0 : 1) + (iterations == 1 ? 0 : 2);
  std::fprintf(stderr, "i i + 1 is %g, %d iterations: %s\n", static_cast<double>(error),
               static_cast<int>(iterations), *wrong == 0 ? "all is right" : "wrong");
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&a));
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace

int main(int argc, char** argv) {
  int wrong = 0;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  if (run(&wrong) != 0) MPI_Abort(PETSC_COMM_WORLD, 3);
  PetscCall(PetscFinalize());
  return wrong;
}
