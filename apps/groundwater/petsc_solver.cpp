// SPDX-License-Identifier: BSD-3-Clause
// Linear systems by PETSc, and by what it was built with, such as hypre.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <petscksp.h>

#include "linear_solver.hpp"
#include "tailrace/error.hpp"

namespace tailrace::groundwater {

namespace {

/// PETSc tells what is wrong on each rank by itself.
void check(PetscErrorCode code, const char* what) {
  if (code == 0) return;
  const char* text = nullptr;
  PetscErrorMessage(code, &text, nullptr);
  throw Error(Errc::invalid_input, fmt::format("PETSc: {}: {}; check linear.petsc", what,
                                               text == nullptr ? "error" : text));
}

/// PETSc while any solver lives.
class PetscUse {
 public:
  explicit PetscUse(MPI_Comm comm) {
    PetscBool there = PETSC_FALSE;
    PetscInitialized(&there);
    if (there == PETSC_TRUE) return;
    PETSC_COMM_WORLD = comm;
    check(PetscInitializeNoArguments(), "start");
    PetscPopSignalHandler();  // ours ends a run with a checkpoint
    PetscPushErrorHandler(PetscReturnErrorHandler, nullptr);
    ours_ = true;
  }
  PetscUse(const PetscUse&) = delete;
  PetscUse& operator=(const PetscUse&) = delete;
  ~PetscUse() {
    if (ours_) PetscFinalize();
  }
  static std::shared_ptr<PetscUse> get(MPI_Comm comm) {
    static std::weak_ptr<PetscUse> present;
    auto use = present.lock();
    if (use == nullptr) present = use = std::make_shared<PetscUse>(comm);
    return use;
  }

 private:
  bool ours_ = false;
};

class PetscSolver final : public LinearSolver {
 public:
  PetscSolver(const Case& values, const Grid& grid, const CellGraph& graph, int block,
              const sparse::CoupledValues& first, double tolerance)
      : use_(PetscUse::get(grid.comm().raw())),
        graph_(&graph),
        coupled_(block > 0),
        block_(std::max(1, block)),
        tolerance_(tolerance) {
    Cell first_cell{};
    const PetscInt own = static_cast<PetscInt>(grid.num_own());
    if (own > 0) first_cell = grid.own_cell(0);
    first_row_ = own > 0 ? static_cast<PetscInt>(grid.row(first_cell)) : 0;
    check(PetscOptionsInsertString(nullptr, values.linear.petsc.c_str()), "options");
    make_matrix(grid, own);
    set_values(first);
    check(KSPCreate(grid.comm().raw(), &krylov_), "KSP");
    check(KSPSetType(krylov_, KSPBCGS), "KSP");
    // As ours: the norm of b - A x, whatever the preconditioner.
    check(KSPSetNormType(krylov_, KSP_NORM_UNPRECONDITIONED), "norm");
    check(KSPSetInitialGuessNonzero(krylov_, PETSC_TRUE), "guess");
    check(KSPSetTolerances(krylov_, tolerance, std::numeric_limits<double>::min(), PETSC_DEFAULT,
                           static_cast<PetscInt>(values.linear.max_iterations)),
          "tolerances");
    check(KSPSetFromOptions(krylov_), "options");
    check(KSPSetOperators(krylov_, matrix_, matrix_), "operators");
    check(MatCreateVecs(matrix_, &x_, &b_), "vectors");
    check(VecDuplicate(b_, &residual_), "vectors");
  }

  ~PetscSolver() override {
    VecDestroy(&x_);
    VecDestroy(&b_);
    VecDestroy(&residual_);
    KSPDestroy(&krylov_);
    MatDestroy(&matrix_);
  }

  void set_values(const sparse::CoupledValues& values) override {
    const auto n = static_cast<std::size_t>(block_), size = n * n;
    std::vector<double> block(size);
    for (std::size_t i = 0; i + 1 < graph_->row_starts.size(); ++i) {
      const PetscInt row = first_row_ + static_cast<PetscInt>(i);
      for (auto e = graph_->row_starts[i]; e < graph_->row_starts[i + 1]; ++e) {
        std::fill(block.begin(), block.end(), 0.0);
        if (coupled_ && e == graph_->diagonal[i]) {
          std::copy_n(values.blocks.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                      block.begin());
        }
        const auto entry = static_cast<std::size_t>(e);
        for (std::size_t s = 0; s < n; ++s) block[s * n + s] += values.couplings[entry];
        const auto column = static_cast<PetscInt>(graph_->columns[entry]);
        check(MatSetValuesBlocked(matrix_, 1, &row, 1, &column, block.data(), INSERT_VALUES),
              "values");
      }
    }
    check(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY), "matrix");
    check(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY), "matrix");
  }

  LinearResult solve(std::span<const double> b, std::span<double> x) override {
    check(VecPlaceArray(b_, b.data()), "vectors");
    check(VecPlaceArray(x_, x.data()), "vectors");
    LinearResult result;
    double size = 0;
    const PetscErrorCode code = KSPSolve(krylov_, b_, x_);
    if (code == 0) {
      check(MatResidual(matrix_, b_, x_, residual_), "residual");
      check(VecNorm(residual_, NORM_2, &result.residual_norm), "residual");
      check(VecNorm(b_, NORM_2, &size), "residual");
    }
    check(VecResetArray(b_), "vectors");
    check(VecResetArray(x_), "vectors");
    check(code, "solve");
    KSPConvergedReason reason{};
    PetscInt iterations = 0;
    check(KSPGetConvergedReason(krylov_, &reason), "solve");
    check(KSPGetIterationNumber(krylov_, &iterations), "solve");
    result.iterations = static_cast<int>(iterations);
    // A method may break down because nothing is left to do.
    result.converged = reason > 0 || result.residual_norm <= tolerance_ * size;
    result.usable = result.converged || reason == KSP_DIVERGED_ITS || result.residual_norm < size;
    if (!result.converged) result.why = fmt::format("PETSc: {}", KSPConvergedReasons[reason]);
    return result;
  }

  std::string describe() const override {
    KSPType method = nullptr;
    PC preconditioner = nullptr;
    PCType of = nullptr;
    MatType storage = nullptr;
    KSPGetType(krylov_, &method);
    KSPGetPC(krylov_, &preconditioner);
    PCGetType(preconditioner, &of);
    MatGetType(matrix_, &storage);
    return fmt::format("PETSc: {}, {}, matrix {}", method, of == nullptr ? "no preconditioner" : of,
                       storage);
  }

 private:
  void make_matrix(const Grid& grid, PetscInt own) {
    check(MatCreate(grid.comm().raw(), &matrix_), "matrix");
    check(MatSetSizes(matrix_, own * block_, own * block_, PETSC_DETERMINE, PETSC_DETERMINE),
          "matrix");
    check(MatSetBlockSize(matrix_, block_), "matrix");
    check(MatSetType(matrix_, block_ > 1 ? MATBAIJ : MATAIJ), "matrix");
    check(MatSetFromOptions(matrix_), "options");
    // A cell, and six beside it.
    check(MatXAIJSetPreallocation(matrix_, block_, counts_of(own).data(), counts_of(own).data(),
                                  nullptr, nullptr),
          "memory");
  }

  /// Entries of a row, at most.
  static std::vector<PetscInt> counts_of(PetscInt own) {
    return std::vector<PetscInt>(static_cast<std::size_t>(own) + 1, 7);
  }

  std::shared_ptr<PetscUse> use_;
  const CellGraph* graph_;
  bool coupled_;
  PetscInt block_, first_row_ = 0;
  Mat matrix_ = nullptr;
  KSP krylov_ = nullptr;
  Vec x_ = nullptr, b_ = nullptr, residual_ = nullptr;
  double tolerance_;
};

}  // namespace

bool has_petsc() { return true; }

std::unique_ptr<LinearSolver> make_petsc_solver(const Case& values, const Grid& grid,
                                                const CellGraph& graph, int block,
                                                const sparse::CoupledValues& first,
                                                double tolerance) {
  return std::make_unique<PetscSolver>(values, grid, graph, block, first, tolerance);
}

}  // namespace tailrace::groundwater
