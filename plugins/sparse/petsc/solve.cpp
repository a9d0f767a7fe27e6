// SPDX-License-Identifier: BSD-3-Clause
// MatSolve with PETSc's ILU factors of SeqAIJ matrices, and of SeqBAIJ with blocks of 2 to 16, in
// natural order. PETSc factors as ever; after the third solve its factors are read and stored as
// `IncompleteLu` does. Blocks stay where PETSc has them (in single precision they are stored as
// `BlockIncompleteLu` does), until it factors anew. PETSc lays them out in one array: L's rows,
// each without its diagonal; then U's rows, the last first, each with the inverse of its pivot (or
// of its block on the diagonal) at its end. Factors of large blocks: factor.cpp.
#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "factor.hpp"
#include "huge_pages.hpp"
#include "plugin.hpp"
#include "tailrace/more/block_incomplete_lu.hpp"
#include "tailrace/more/borrowed_blocks.hpp"
#include "tailrace/more/incomplete_lu.hpp"
#include "view.hpp"

namespace tailrace::petsc {

namespace {

constexpr const char* key = "tailrace_solve";

using SolveCall = PetscErrorCode (*)(Mat, Vec, Vec);
MatSolverFunction petsc_create = nullptr;
MatSolverFunction petsc_create_blocks = nullptr;

/// What a factor has besides PETSc's.
struct Solver {
  SymbolicCall petsc_symbolic = nullptr;
  NumericCall petsc_numeric = nullptr;
  SolveCall petsc_solve = nullptr;
  bool natural_order = false;
  std::function<void(std::span<const double> b, std::span<double> x)> ours;  ///< with a copy
  Turns turns;
  std::shared_ptr<Record> record;
  Factorisations factorisations;
  bool copied = false;  ///< `ours` does not read PETSc's arrays
  int reads = 0;        ///< of PETSc's arrays
};

/// PETSc's factors, pivots inverted, in the order of the matrix.
struct Factors {
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int32_t> columns;
  std::vector<const PetscScalar*> values;  ///< where each item lies, or each block

  explicit Factors(const View& view) {
    const auto* starts = view.starts;
    const auto n = static_cast<std::size_t>(view.rows);
    std::vector<PetscInt> upper(n + 1);  // where each row of U begins
    PetscInt at = starts[n];
    for (std::size_t row = n; row-- > 0;) {
      upper[row] = at;
      while (view.columns[at] != static_cast<PetscInt>(row)) ++at;
      ++at;
    }
    row_starts.reserve(n + 1);
    columns.reserve(static_cast<std::size_t>(at));
    values.reserve(static_cast<std::size_t>(at));
    const auto put = [&](PetscInt k) {
      columns.push_back(static_cast<std::int32_t>(view.columns[k]));
      values.push_back(view.values + static_cast<std::size_t>(k) * view.block_items());
    };
    for (std::size_t row = 0; row < n; ++row) {
      for (auto k = starts[row]; k < starts[row + 1]; ++k) put(k);
      auto end = upper[row];
      while (view.columns[end] != static_cast<PetscInt>(row)) ++end;
      put(end);
      for (auto k = upper[row]; k < end; ++k) put(k);
      row_starts.push_back(std::ssize(columns));
    }
  }
};

/// Makes `to.ours`; what it is in words.
std::string store_items(Solver& to, Factors found) {
  const auto rows = std::ssize(found.row_starts) - 1;
  sparse::Csr csr{rows, rows, std::move(found.row_starts), std::move(found.columns), {}};
  csr.values.reserve(found.values.size());
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    for (auto k = static_cast<std::size_t>(csr.row_starts[at]);
         k < static_cast<std::size_t>(csr.row_starts[at + 1]); ++k) {
      const double value = *found.values[k];
      csr.values.push_back(csr.column_indices[k] == row ? 1 / value : value);
    }
  }
  auto factors = sparse::IncompleteLu::from_factors(
      std::move(csr), {.schedule = "chain", .single_precision = options().single_factors});
  const auto words = factors.storage();
  to.ours = [factors = std::move(factors)](auto b, auto x) { factors.solve(b, x); };
  return words;
}
/// Makes `to.ours` of PETSc's own blocks.
std::string borrow_blocks(Solver& to, const View& view) {
  const auto block = static_cast<int>(view.block);
  Triangles found(view);
  const std::vector<std::int32_t> columns(view.columns, view.columns + found.num_blocks);
  const auto factors = std::make_shared<sparse::BorrowedBlockFactors>(
      block, std::move(found.lower), std::move(found.upper), columns, view.values);
  to.ours = [factors](auto b, auto x) { factors->solve(b.data(), x.data()); };
  const auto edge = std::to_string(block);
  return "PETSc's blocks of " + edge + " x " + edge;
}

std::string store_blocks(Solver& to, int block, const Factors& found) {
  const auto factors =
      std::make_shared<sparse::BlockIncompleteLu>(sparse::BlockIncompleteLu::from_factors(
          block, found.row_starts, found.columns, found.values, {.single_precision = true}));
  to.ours = [factors](auto b, auto x) { factors->solve(b, x); };
  const auto edge = std::to_string(block);
  return "blocks of " + edge + " x " + edge + ", fp32";
}

void store(Solver& to, const View& view) {
  try {
    const double start = cpu_s();
    const auto lower = static_cast<std::ptrdiff_t>(view.starts[view.rows]) *
                       static_cast<std::ptrdiff_t>(view.block_items());
    if (lower < options().least_items / 2 ||
        view.block > sparse::BlockIncompleteLu::largest_block) {
      return to.turns.give_up();
    }
    const auto words = view.block == 1 ? store_items(to, Factors(view))
                       : options().single_factors
                           ? store_blocks(to, static_cast<int>(view.block), Factors(view))
                           : borrow_blocks(to, view);
    to.copied = view.block == 1 || options().single_factors;
    if (!to.record) to.record = new_record("MatSolve");
    to.record->rows = static_cast<std::ptrdiff_t>(view.rows) * view.block;
    to.record->items = num_factor_blocks(view) * static_cast<std::ptrdiff_t>(view.block_items());
    to.record->storage = words;
    to.record->library_s = to.turns.library_s();
    to.record->inspection_s += cpu_s() - start;
  } catch (const std::exception&) {  // no memory, or a pivot that is not finite
    to.ours = nullptr;
    to.turns.give_up();
  }
}

PetscErrorCode run(Solver& to, Vec b, Vec x) {
  const PetscScalar* from = nullptr;
  PetscScalar* result = nullptr;
  PetscFunctionBegin;
  const auto rows = static_cast<std::size_t>(to.record->rows);
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArrayWrite(x, &result));
  to.ours({from, rows}, {result, rows});
  PetscCall(VecRestoreArrayWrite(x, &result));
  PetscCall(VecRestoreArrayRead(b, &from));
  PetscCall(PetscLogFlops(
      static_cast<PetscLogDouble>(2 * to.record->items - to.record->rows)));  // as PETSc counts
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode solve(Mat f, Vec b, Vec x) {
  Solver* to = nullptr;
  PetscFunctionBegin;
  PetscCall(attached(reinterpret_cast<PetscObject>(f), key, &to));
  PetscCheck(to != nullptr, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a factor has lost its solver");
  if (!to->ours && to->turns.ours_wins() && !to->turns.library_is_due()) {
    PetscCall(with_view(
        f, [&](const View& view) { store(*to, view); }, [&] { to->turns.give_up(); }));
  }
  if (!to->ours || !to->copied) PetscCall(add_read(f, to->reads));
  const double start = cpu_s();
  if (!to->ours) {
    PetscCall(to->petsc_solve(f, b, x));
    if (!to->turns.ours_wins()) PetscFunctionReturn(PetscErrorCode(0));
    to->turns.add_library(cpu_s() - start);
    PetscFunctionReturn(PetscErrorCode(0));
  }
  PetscCall(run(*to, b, x));
  ++to->record->ours;
  if (!to->turns.decided()) {
    to->turns.add_ours(*to->record, cpu_s() - start, options().always);
    if (!to->turns.ours_wins()) {
      to->record->storage.clear();
      to->ours = nullptr;
    }
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

/// By ours if it may be, else by PETSc.
PetscErrorCode factor(Mat f, Mat a, const MatFactorInfo* info, Solver& to) {
  bool done = false;
  PetscFunctionBegin;
  if (to.natural_order) {
    PetscCall(factor_by_ours(f, a, info, petsc_create_blocks, to.factorisations, &done));
  }
  if (done) PetscFunctionReturn(PetscErrorCode(0));
  const double start = cpu_s();
  PetscCall(to.petsc_numeric(f, a, info));
  to.factorisations.add_library(cpu_s() - start);
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode numeric(Mat f, Mat a, const MatFactorInfo* info) {
  Solver* to = nullptr;
  Operation found = nullptr;
  PetscFunctionBegin;
  PetscCall(attached(reinterpret_cast<PetscObject>(f), key, &to));
  PetscCheck(to != nullptr, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a factor has lost its solver");
  PetscCall(factor(f, a, info, *to));
  PetscCall(MatGetOperation(f, MATOP_SOLVE, &found));
  if (reinterpret_cast<SolveCall>(found) != solve) {
    to->petsc_solve = reinterpret_cast<SolveCall>(found);
  }
  to->ours = nullptr;
  to->turns.restart();
  if (to->natural_order && to->petsc_solve != nullptr) {
    PetscCall(MatSetOperation(f, MATOP_SOLVE, reinterpret_cast<Operation>(solve)));
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode symbolic(Mat f, Mat a, IS row, IS column, const MatFactorInfo* info) {
  Solver* to = nullptr;
  Operation found = nullptr;
  PetscBool natural_rows = PETSC_FALSE;
  PetscBool natural_columns = PETSC_FALSE;
  PetscBool blocks = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), MATSEQBAIJ, &blocks));
  PetscCall(attached(reinterpret_cast<PetscObject>(f), key, &to));
  PetscCheck(to != nullptr, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a factor has lost its solver");
  {
    std::optional<WrittenAsWhole> factors;  // of AIJ ours is a copy, mostly
    if (blocks == PETSC_TRUE) factors.emplace();
    PetscCall(to->petsc_symbolic(f, a, row, column, info));
  }
  PetscCall(ISIdentity(row, &natural_rows));
  PetscCall(ISIdentity(column, &natural_columns));
  to->natural_order = natural_rows == PETSC_TRUE && natural_columns == PETSC_TRUE;
  to->turns = {};
  to->reads = 0;
  to->record.reset();
  to->factorisations = {};
  PetscCall(MatGetOperation(f, MATOP_LUFACTOR_NUMERIC, &found));
  to->petsc_numeric = reinterpret_cast<NumericCall>(found);
  PetscCall(MatSetOperation(f, MATOP_LUFACTOR_NUMERIC, reinterpret_cast<Operation>(numeric)));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// With PETSc's function `petsc`.
template <MatSolverFunction& petsc>
PetscErrorCode create(Mat a, MatFactorType type, Mat* made) {
  Operation found = nullptr;
  PetscFunctionBegin;
  PetscCall(petsc(a, type, made));
  if (*made == nullptr) PetscFunctionReturn(PetscErrorCode(0));
  PetscCall(MatGetOperation(*made, MATOP_ILUFACTOR_SYMBOLIC, &found));
  if (found == nullptr) PetscFunctionReturn(PetscErrorCode(0));
  auto solver = std::make_unique<Solver>();
  solver->petsc_symbolic = reinterpret_cast<SymbolicCall>(found);
  PetscCall(attach(reinterpret_cast<PetscObject>(*made), key, std::move(solver)));
  PetscCall(
      MatSetOperation(*made, MATOP_ILUFACTOR_SYMBOLIC, reinterpret_cast<Operation>(symbolic)));
  PetscFunctionReturn(PetscErrorCode(0));
}

template <MatSolverFunction& petsc>
PetscErrorCode take_over_factors(MatType of) {
  PetscBool package = PETSC_FALSE;
  PetscBool type = PETSC_FALSE;
  MatSolverFunction found = nullptr;
  PetscFunctionBegin;
  PetscCall(MatSolverTypeGet(MATSOLVERPETSC, of, MAT_FACTOR_ILU, &package, &type, &found));
  if (found == nullptr || found == create<petsc>) PetscFunctionReturn(PetscErrorCode(0));
  petsc = found;
  PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, of, MAT_FACTOR_ILU, create<petsc>));
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace

PetscErrorCode take_over_solve() {
  PetscFunctionBegin;
  PetscCall(take_over_factors<petsc_create>(MATSEQAIJ));
  if (options().blocks) PetscCall(take_over_factors<petsc_create_blocks>(MATSEQBAIJ));
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace tailrace::petsc
