// SPDX-License-Identifier: BSD-3-Clause
// MatSolve with PETSc's ILU factors of SeqAIJ matrices in natural order. PETSc factors as ever;
// after the third solve its factors are read and stored as `IncompleteLu` does. PETSc lays them out
// in one array: L's rows, each without its diagonal; then U's rows, the last first, each with the
// inverse of its pivot at its end.
#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "plugin.hpp"
#include "tailrace/more/incomplete_lu.hpp"

namespace tailrace::petsc {

namespace {

constexpr const char* key = "tailrace_solve";

using SolveCall = PetscErrorCode (*)(Mat, Vec, Vec);
using SymbolicCall = PetscErrorCode (*)(Mat, Mat, IS, IS, const MatFactorInfo*);
using NumericCall = PetscErrorCode (*)(Mat, Mat, const MatFactorInfo*);
MatSolverFunction petsc_create = nullptr;

/// What a factor has besides PETSc's.
struct Solver {
  SymbolicCall petsc_symbolic = nullptr;
  NumericCall petsc_numeric = nullptr;
  SolveCall petsc_solve = nullptr;
  bool natural_order = false;
  std::optional<sparse::IncompleteLu> factors;
  double petsc_s = std::numeric_limits<double>::infinity();
  Contest contest;
  std::shared_ptr<Record> record;
};

/// PETSc's factors in the form of `IncompleteLu::factors`.
sparse::Csr read_factors(const View& view) {
  const auto& [rows, starts, columns, values] = view;
  const auto n = static_cast<std::size_t>(rows);
  std::vector<PetscInt> upper(n + 1);  // where each row of U begins
  PetscInt at = starts[n];
  for (std::size_t row = n; row-- > 0;) {
    upper[row] = at;
    while (columns[at] != static_cast<PetscInt>(row)) ++at;
    ++at;
  }
  sparse::Csr csr{rows, rows, {0}, {}, {}};
  csr.row_starts.reserve(n + 1);
  csr.column_indices.reserve(static_cast<std::size_t>(at));
  csr.values.reserve(static_cast<std::size_t>(at));
  for (std::size_t row = 0; row < n; ++row) {
    for (auto k = starts[row]; k < starts[row + 1]; ++k) {
      csr.column_indices.push_back(static_cast<std::int32_t>(columns[k]));
      csr.values.push_back(values[k]);
    }
    auto end = upper[row];
    while (columns[end] != static_cast<PetscInt>(row)) ++end;
    csr.column_indices.push_back(static_cast<std::int32_t>(row));
    csr.values.push_back(1 / values[end]);
    for (auto k = upper[row]; k < end; ++k) {
      csr.column_indices.push_back(static_cast<std::int32_t>(columns[k]));
      csr.values.push_back(values[k]);
    }
    csr.row_starts.push_back(static_cast<std::int64_t>(csr.values.size()));
  }
  return csr;
}

void store(Solver& to, const View& view) {
  try {
    const double start = cpu_s();
    if (view.starts[view.rows] < options().least_items / 2) return to.contest.give_up();  // L alone
    auto csr = read_factors(view);
    const auto items = std::ssize(csr.values);
    to.factors.emplace(sparse::IncompleteLu::from_factors(
        std::move(csr), {.schedule = "chain", .single_precision = options().single_factors}));
    if (!to.record) to.record = new_record("MatSolve");
    to.record->rows = view.rows;
    to.record->items = items;
    to.record->storage = to.factors->storage();
    to.record->petsc_s = std::min(to.record->petsc_s, to.petsc_s);
    to.record->inspection_s += cpu_s() - start;
  } catch (const std::exception&) {  // no memory, or a pivot that is not finite
    to.factors.reset();
    to.contest.give_up();
  }
}

PetscErrorCode run(Solver& to, Vec b, Vec x) {
  const PetscScalar* from = nullptr;
  PetscScalar* result = nullptr;
  PetscFunctionBegin;
  const auto rows = static_cast<std::size_t>(to.factors->rows());
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArrayWrite(x, &result));
  to.factors->solve({from, rows}, {result, rows});
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
  if (!to->factors && to->contest.ours_wins() && !to->contest.petsc_is_due()) {
    PetscCall(with_view(
        f, [&](const View& view) { store(*to, view); }, [&] { to->contest.give_up(); }));
  }
  const double start = cpu_s();
  if (!to->factors) {
    PetscCall(to->petsc_solve(f, b, x));
    if (!to->contest.ours_wins()) PetscFunctionReturn(PetscErrorCode(0));
    to->petsc_s = std::min(to->petsc_s, cpu_s() - start);
    to->contest.add_petsc();
    PetscFunctionReturn(PetscErrorCode(0));
  }
  PetscCall(run(*to, b, x));
  ++to->record->ours;
  if (!to->contest.decided()) {
    to->contest.add_ours(*to->record, cpu_s() - start);
    if (!to->contest.ours_wins()) {
      to->record->storage.clear();
      to->factors.reset();
    }
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode numeric(Mat f, Mat a, const MatFactorInfo* info) {
  Solver* to = nullptr;
  Operation found = nullptr;
  PetscFunctionBegin;
  PetscCall(attached(reinterpret_cast<PetscObject>(f), key, &to));
  PetscCheck(to != nullptr, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a factor has lost its solver");
  PetscCall(to->petsc_numeric(f, a, info));
  PetscCall(MatGetOperation(f, MATOP_SOLVE, &found));
  if (reinterpret_cast<SolveCall>(found) != solve) {
    to->petsc_solve = reinterpret_cast<SolveCall>(found);
  }
  to->factors.reset();
  to->contest.restart();
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
  PetscFunctionBegin;
  PetscCall(attached(reinterpret_cast<PetscObject>(f), key, &to));
  PetscCheck(to != nullptr, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a factor has lost its solver");
  PetscCall(to->petsc_symbolic(f, a, row, column, info));
  PetscCall(ISIdentity(row, &natural_rows));
  PetscCall(ISIdentity(column, &natural_columns));
  to->natural_order = natural_rows == PETSC_TRUE && natural_columns == PETSC_TRUE;
  to->contest = {};
  to->record.reset();
  PetscCall(MatGetOperation(f, MATOP_LUFACTOR_NUMERIC, &found));
  to->petsc_numeric = reinterpret_cast<NumericCall>(found);
  PetscCall(MatSetOperation(f, MATOP_LUFACTOR_NUMERIC, reinterpret_cast<Operation>(numeric)));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode create(Mat a, MatFactorType type, Mat* made) {
  Operation found = nullptr;
  PetscFunctionBegin;
  PetscCall(petsc_create(a, type, made));
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

}  // namespace

PetscErrorCode take_over_solve() {
  PetscBool package = PETSC_FALSE;
  PetscBool type = PETSC_FALSE;
  MatSolverFunction found = nullptr;
  PetscFunctionBegin;
  PetscCall(MatSolverTypeGet(MATSOLVERPETSC, MATSEQAIJ, MAT_FACTOR_ILU, &package, &type, &found));
  if (found == nullptr || found == create) PetscFunctionReturn(PetscErrorCode(0));
  petsc_create = found;
  PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, MATSEQAIJ, MAT_FACTOR_ILU, create));
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace tailrace::petsc
