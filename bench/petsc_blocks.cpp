// SPDX-License-Identifier: BSD-3-Clause
// A PETSc program that knows nothing of libtailrace_petsc.so: BiCGStab and ILU(0) on BAIJ blocks
// that couple as a 7-point stencil of n^3 cells does. One line of JSON: CPU and wall time of each
// of some KSPSolve, a factorisation in each, and of the whole program.
//   bench_petsc_blocks -n 22 -block 15 -solves 1; PETSc's options are read, too
#include <petsc/private/petscimpl.h>  // PetscObjectStateIncrease
#include <petscksp.h>

#include <vector>

#include "driver.hpp"

namespace {

/// Off the diagonal -(I + noise), on it 6.3 I and more noise, each column by column.
std::vector<PetscScalar> make_block(PetscInt block, PetscInt row, PetscInt column) {
  const auto size = static_cast<std::size_t>(block);
  std::vector<PetscScalar> items(size * size);
  const auto first = static_cast<std::size_t>(7 * row + column % 7) * items.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = 0.05 / static_cast<double>(block) * bench::noise(first + i);
    if (i % (size + 1) == 0) items[i] += row == column ? 6.01 : -1;
  }
  return items;
}

PetscErrorCode fill(Mat a, PetscInt n, PetscInt block) {
  PetscInt low = 0;
  PetscInt high = 0;
  PetscFunctionBegin;
  PetscCall(MatSetOption(a, MAT_ROW_ORIENTED, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(a, &low, &high));
  for (PetscInt row = low / block; row < high / block; ++row) {
    const auto put = [&](bool exists, PetscInt column) -> PetscErrorCode {
      if (!exists) return PetscErrorCode(0);
      return MatSetValuesBlocked(a, 1, &row, 1, &column, make_block(block, row, column).data(),
                                 INSERT_VALUES);
    };
    const PetscInt z = row % n;
    const PetscInt y = row / n % n;
    const PetscInt x = row / (n * n);
    PetscCall(put(x > 0, row - n * n));
    PetscCall(put(y > 0, row - n));
    PetscCall(put(z > 0, row - 1));
    PetscCall(put(true, row));
    PetscCall(put(z < n - 1, row + 1));
    PetscCall(put(y < n - 1, row + n));
    PetscCall(put(x < n - 1, row + n * n));
  }
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PetscErrorCode(0));
}

struct Times {
  std::vector<double> wall_s, cpu_s;
};

PetscErrorCode solve(Mat a, KSP ksp, Vec b, Vec x, Times& times) {
  PetscFunctionBegin;
  PetscCall(VecSet(x, 0));
  PetscCall(PetscObjectStateIncrease(reinterpret_cast<PetscObject>(a)));  // as with new values
  const double wall = bench::now_s();
  const double cpu = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  PetscCall(KSPSolve(ksp, b, x));
  times.wall_s.push_back(bench::now_s() - wall);
  times.cpu_s.push_back(bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode print(KSP ksp, Vec x, const Times& times) {
  PetscInt iterations = 0;
  PetscReal error = 0;
  PetscMPIInt rank = 0;
  PetscFunctionBegin;
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecShift(x, -1));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  bench::JsonLine line;
  line.numbers("solve_wall_s", times.wall_s).numbers("solve_cpu_s", times.cpu_s);
  line.number("program_cpu_s", bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID));
  line.number("iterations", iterations).number("error", error);
  if (rank == 0) line.print();
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode solve_often(Mat a, PetscInt number) {
  Vec x = nullptr;
  Vec b = nullptr;
  KSP ksp = nullptr;
  PC pc = nullptr;
  Times times;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(a, &x, &b));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(a, x, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBCGS));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBJACOBI));  // ILU(0) of each rank's rows
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt i = 0; i < number; ++i) PetscCall(solve(a, ksp, b, x, times));
  PetscCall(print(ksp, x, times));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode run() {
  PetscInt n = 22;
  PetscInt block = 15;
  PetscInt solves = 1;
  Mat a = nullptr;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-n", &n, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-block", &block, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-solves", &solves, nullptr));
  const auto rows = n * n * n * block;
  PetscCall(MatCreateBAIJ(PETSC_COMM_WORLD, block, PETSC_DECIDE, PETSC_DECIDE, rows, rows, 7,
                          nullptr, 6, nullptr, &a));
  PetscCall(fill(a, n, block));
  PetscCall(solve_often(a, solves));
  PetscCall(MatDestroy(&a));
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(run());
  PetscCall(PetscFinalize());
  return 0;
}
