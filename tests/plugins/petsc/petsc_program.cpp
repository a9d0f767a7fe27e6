// SPDX-License-Identifier: BSD-3-Clause
// A PETSc program: products, solves with ILU(0) and sweeps of SOR, of a matrix whose values and
// structure change, compared with sums of its own, the sweeps with PETSc's. The same of matrices of
// blocks, for each size, and once of many.
#include <cmath>
#include <cstdio>
#include <vector>

#include <petscksp.h>

namespace {

constexpr PetscInt edge = 30;  // of a square of points
constexpr PetscInt num_rows = edge * edge;

/// The item of the changing matrix; 0: none.
double item(PetscInt row, PetscInt column, int version, bool wide) {
  const auto distance = std::abs(row - column);
  const bool neighbour = distance == edge || distance == (wide ? 2 : 1);
  if (row == column) return 8.0 + std::sin(static_cast<double>(row * (version + 1)));
  return neighbour ? -1.0 - 0.3 * std::cos(static_cast<double>(row + 2 * column + version)) : 0.0;
}

double x_of(PetscInt row, int version) {
  return std::cos(0.1 * static_cast<double>(row) + version);
}

enum class Side { rows, columns };  // A x or A^T x

double product(PetscInt row, int version, bool wide, Side side) {
  double sum = 0;
  for (const auto column : {row - edge, row - 2, row - 1, row, row + 1, row + 2, row + edge}) {
    if (column < 0 || column >= num_rows) continue;
    const double value =
        side == Side::rows ? item(row, column, version, wide) : item(column, row, version, wide);
    sum += value * x_of(column, version);
  }
  return sum;
}

PetscErrorCode fill(Mat a, int version, bool wide) {
  PetscInt low = 0;
  PetscInt high = 0;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(a, &low, &high));
  for (PetscInt row = low; row < high; ++row) {
    for (const auto column : {row - edge, row - 2, row - 1, row, row + 1, row + 2, row + edge}) {
      if (column < 0 || column >= num_rows) continue;
      const double value = item(row, column, version, wide);
      if (value != 0) PetscCall(MatSetValue(a, row, column, value, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// y is `factor` times A x, or A^T x, or else the job ends.
PetscErrorCode check(Vec y, int version, bool wide, double factor, const char* what,
                     Side side = Side::rows) {
  PetscInt low = 0;
  PetscInt high = 0;
  const PetscScalar* items = nullptr;
  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(y, &low, &high));
  PetscCall(VecGetArrayRead(y, &items));
  for (PetscInt row = low; row < high; ++row) {
    const double wanted = factor * product(row, version, wide, side);
    if (std::abs(items[row - low] - wanted) > 1e-12) {
      std::fprintf(stderr, "%s, version %d, row %d: %.17g in place of %.17g\n", what, version,
                   static_cast<int>(row), items[row - low], wanted);
      MPI_Abort(PETSC_COMM_WORLD, 1);
    }
  }
  PetscCall(VecRestoreArrayRead(y, &items));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode set_x(Vec x, int version) {
  PetscInt low = 0;
  PetscInt high = 0;
  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &low, &high));
  for (PetscInt row = low; row < high; ++row) {
    PetscCall(VecSetValue(x, row, x_of(row, version), INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// The norm of y - z is no more than round-off of z, or else the job ends. y is lost.
PetscErrorCode check_equal(Vec y, Vec z, const char* what, double omega) {
  double difference = 0;
  double size = 0;
  PetscReal tolerance = 1e-12;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-tolerance", &tolerance, nullptr));
  PetscCall(VecAXPY(y, -1, z));
  PetscCall(VecNorm(y, NORM_2, &difference));
  PetscCall(VecNorm(z, NORM_2, &size));
  if (size > 0 && difference <= tolerance * size) PetscFunctionReturn(PetscErrorCode(0));
  std::fprintf(stderr, "%s, omega %g: differs by %g from %g\n", what, omega, difference, size);
  MPI_Abort(PETSC_COMM_WORLD, 4);
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Sweeps of SOR, compared with those of a copy, which are PETSc's own. Each kind has a matrix of
/// its own, so that it is the first that this one is asked for.
PetscErrorCode sweep(Mat original) {
  struct Kind {
    MatSORType type;
    PetscReal omega;
    const char* name;
  };
  Vec b = nullptr;
  Vec y = nullptr;
  Vec z = nullptr;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(original, &b, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(set_x(b, 7));
  for (const auto& kind :
       {Kind{SOR_LOCAL_SYMMETRIC_SWEEP, 1, "symmetric"},
        Kind{SOR_LOCAL_SYMMETRIC_SWEEP, 1.3, "symmetric"},
        Kind{SOR_LOCAL_FORWARD_SWEEP, 1, "forward"}, Kind{SOR_LOCAL_FORWARD_SWEEP, 0.7, "forward"},
        Kind{SOR_LOCAL_BACKWARD_SWEEP, 1, "backward"},
        Kind{SOR_LOCAL_BACKWARD_SWEEP, 1.9, "backward"}}) {
    Mat a = nullptr;
    Mat copy = nullptr;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, num_rows, num_rows, 9,
                           nullptr, 9, nullptr, &a));
    for (int version = 0; version < 3; ++version) {
      PetscCall(fill(a, version, false));
      PetscCall(MatDuplicate(a, MAT_COPY_VALUES, &copy));
      for (int again = 0; again < 9; ++again) {
        const auto type = static_cast<MatSORType>(kind.type | SOR_ZERO_INITIAL_GUESS);
        PetscCall(MatSOR(a, b, kind.omega, type, 0, 1, 1, y));
        PetscCall(MatSOR(copy, b, kind.omega, type, 0, 1, 1, z));
        PetscCall(check_equal(y, z, kind.name, kind.omega));
        if (again < 6) continue;  // what is PETSc's, between those that are ours
        PetscCall(MatSOR(a, b, kind.omega, type, 0, 2, 1, y));
        PetscCall(MatSOR(copy, b, kind.omega, type, 0, 2, 1, z));
        PetscCall(check_equal(y, z, "two sweeps", kind.omega));
        PetscCall(MatSOR(a, b, 1.1, kind.type, 0, 1, 1, z));
        PetscCall(MatSOR(a, b, 1.1, type, 0, 1, 1, y));
        PetscCall(MatSOR(copy, b, 1.1, type, 0, 1, 1, z));
        PetscCall(check_equal(y, z, "another omega", 1.1));
      }
      PetscCall(MatDestroy(&copy));
    }
    PetscCall(MatDestroy(&a));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode multiply_and_solve(Mat a, KSP ksp, bool wide) {
  Vec x = nullptr;
  Vec y = nullptr;
  Vec z = nullptr;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(a, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  for (int version = 0; version < 4; ++version) {
    PetscCall(fill(a, version, wide));
    PetscCall(set_x(x, version));
    for (int again = 0; again < 9; ++again) {
      PetscCall(MatMult(a, x, y));
      PetscCall(check(y, version, wide, 1, "MatMult"));
      PetscCall(MatMultAdd(a, x, y, y));
      PetscCall(check(y, version, wide, 2, "MatMultAdd in place"));
      PetscCall(VecScale(y, 0.5));
      PetscCall(MatMultAdd(a, x, y, z));
      PetscCall(check(z, version, wide, 2, "MatMultAdd"));
      PetscCall(MatMultTranspose(a, x, y));
      PetscCall(check(y, version, wide, 1, "MatMultTranspose", Side::columns));
      PetscCall(MatMultTransposeAdd(a, x, y, z));
      PetscCall(check(z, version, wide, 2, "MatMultTransposeAdd", Side::columns));
      PetscCall(MatMultTransposeAdd(a, x, y, y));
      PetscCall(check(y, version, wide, 2, "MatMultTransposeAdd in place", Side::columns));
      if (again == 5) {  // values change without a new assembly
        PetscCall(MatScale(a, 0.5));
        PetscCall(MatMult(a, x, y));
        PetscCall(check(y, version, wide, 0.5, "MatMult after MatScale"));
        PetscCall(MatMultTranspose(a, x, y));
        PetscCall(check(y, version, wide, 0.5, "MatMultTranspose after MatScale", Side::columns));
        PetscCall(MatScale(a, 2));
      }
    }
    PetscCall(MatMult(a, x, y));
    PetscCall(KSPSetOperators(ksp, a, a));
    PetscCall(KSPSolve(ksp, y, z));
    PetscCall(MatMult(a, z, x));
    PetscCall(check(x, version, wide, 1, "KSPSolve"));
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    if (reason <= 0) MPI_Abort(PETSC_COMM_WORLD, 2);
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PetscErrorCode(0));
}

constexpr PetscInt far_block = 7;

/// Item (i, j) of a block; whole blocks of zeros stand where rows are no neighbours.
double block_item(PetscInt i, PetscInt j, PetscInt block, int version) {
  const auto distance = std::abs(i / block - j / block);
  if (distance != 0 && distance != 1 && distance != far_block) return 0;
  const double value = std::sin(static_cast<double>(3 * i + 5 * j + version));
  return i == j ? 4.0 * static_cast<double>(block) + value : 0.5 * value;
}

PetscErrorCode fill_blocks(Mat a, PetscInt block, int version) {
  PetscInt low = 0, high = 0, rows = 0;
  std::vector<PetscScalar> values(static_cast<std::size_t>(block * block));
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(a, &low, &high));
  PetscCall(MatGetSize(a, &rows, nullptr));
  for (PetscInt row = low / block; row < high / block; ++row) {
    for (const auto column : {row - far_block, row - 1, row, row + 1, row + far_block}) {
      if (column < 0 || column >= rows / block) continue;
      for (PetscInt k = 0; k < block * block; ++k) {
        values[static_cast<std::size_t>(k)] =
            block_item(row * block + k / block, column * block + k % block, block, version);
      }
      PetscCall(MatSetValuesBlocked(a, 1, &row, 1, &column, values.data(), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// A x by loops.
PetscErrorCode multiply_blocks(PetscInt block, int version, int x_version, Vec y) {
  PetscInt low = 0, high = 0, columns = 0;
  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(y, &low, &high));
  PetscCall(VecGetSize(y, &columns));
  for (PetscInt row = low; row < high; ++row) {
    double sum = 0;
    for (PetscInt column = 0; column < columns; ++column) {
      sum += block_item(row, column, block, version) * x_of(column, x_version);
    }
    PetscCall(VecSetValue(y, row, sum, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(y));
  PetscCall(VecAssemblyEnd(y));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode make_solver(KSP* ksp) {
  PC pc = nullptr;
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPGMRES));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCBJACOBI));  // ILU(0) of each rank's rows
  PetscCall(KSPSetTolerances(*ksp, 1e-15, 1e-14, PETSC_DEFAULT, 200));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Full blocks: ILU(0) item by item is the same as block by block.
PetscErrorCode apply_by_items(Mat a, Vec b, Vec y) {
  Mat items = nullptr;
  KSP ksp = nullptr;
  PC pc = nullptr;
  PetscFunctionBegin;
  PetscCall(MatConvert(a, MATAIJ, MAT_INITIAL_MATRIX, &items));
  PetscCall(make_solver(&ksp));
  PetscCall(KSPSetOperators(ksp, items, items));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCApply(pc, b, y));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&items));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode check_blocks(Mat a, KSP ksp, PetscInt block, int repeats = 8) {
  const auto size = static_cast<double>(block);
  Vec x = nullptr;
  Vec y = nullptr;
  Vec z = nullptr;
  Vec wanted = nullptr;
  PC pc = nullptr;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(a, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecDuplicate(x, &wanted));
  for (int version = 0; version < 3; ++version) {
    PetscCall(fill_blocks(a, block, version));
    PetscCall(set_x(x, version));
    PetscCall(multiply_blocks(block, version, version, wanted));
    for (int again = 0; again < repeats; ++again) {
      PetscCall(MatMult(a, x, y));
      PetscCall(VecCopy(y, z));
      PetscCall(check_equal(y, wanted, "MatMult of blocks", size));
      PetscCall(MatMultAdd(a, x, z, z));
      PetscCall(VecScale(z, 0.5));
      PetscCall(check_equal(z, wanted, "MatMultAdd of blocks", size));
    }
    PetscCall(KSPSetOperators(ksp, a, a));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(apply_by_items(a, wanted, z));
    for (int again = 0; again < repeats; ++again) {
      PetscCall(PCApply(pc, wanted, y));
      PetscCall(check_equal(y, z, "MatSolve of blocks", size));
    }
    PetscCall(KSPSolve(ksp, wanted, y));
    PetscCall(check_equal(y, x, "KSPSolve of blocks", size));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&wanted));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode run_blocks() {
  Mat a = nullptr;
  Mat copy = nullptr;
  KSP ksp = nullptr;
  PetscFunctionBegin;
  for (PetscInt block = 2; block <= 17; ++block) {
    const auto n = 41 * block;
    PetscCall(MatCreateBAIJ(PETSC_COMM_WORLD, block, PETSC_DECIDE, PETSC_DECIDE, n, n, 5, nullptr,
                            5, nullptr, &a));
    PetscCall(make_solver(&ksp));
    PetscCall(check_blocks(a, ksp, block));
    PetscCall(MatDuplicate(a, MAT_COPY_VALUES, &copy));
    PetscCall(MatDestroy(&a));
    PetscCall(check_blocks(copy, ksp, block));
    PetscCall(MatDestroy(&copy));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Blocks of several MiB, which are read often.
PetscErrorCode run_large() {
  constexpr PetscInt block = 15;
  constexpr auto n = 600 * block;
  Mat a = nullptr;
  KSP ksp = nullptr;
  PetscFunctionBegin;
  PetscCall(MatCreateBAIJ(PETSC_COMM_WORLD, block, PETSC_DECIDE, PETSC_DECIDE, n, n, 5, nullptr, 5,
                          nullptr, &a));
  PetscCall(make_solver(&ksp));
  PetscCall(check_blocks(a, ksp, block, 55));
  PetscCall(MatDestroy(&a));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode run() {
  Mat a = nullptr;
  KSP ksp = nullptr;
  PetscFunctionBegin;
  for (const bool wide : {false, true}) {
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, num_rows, num_rows, 9,
                           nullptr, 9, nullptr, &a));
    PetscCall(make_solver(&ksp));
    PetscCall(multiply_and_solve(a, ksp, wide));
    if (!wide) {
      PetscCall(sweep(a));
      Mat copy = nullptr;  // goes on without the first one
      PetscCall(MatDuplicate(a, MAT_COPY_VALUES, &copy));
      PetscCall(MatDestroy(&a));
      PetscCall(multiply_and_solve(copy, ksp, wide));
      PetscCall(MatDestroy(&copy));
    }
    PetscCall(MatDestroy(&a));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscBool blocks = PETSC_FALSE;
  PetscBool large = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-blocks", &blocks, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-large", &large, nullptr));
  const auto program = blocks == PETSC_TRUE ? run_blocks : large == PETSC_TRUE ? run_large : run;
  if (program() != 0) MPI_Abort(PETSC_COMM_WORLD, 3);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "all is right\n"));
  PetscCall(PetscFinalize());
  return 0;
}
