// SPDX-License-Identifier: BSD-3-Clause
// MatSOR of SeqAIJ matrices from a guess of zero, so also within the local parts of MPIAIJ: what
// PCSOR asks for, and with it the smoothers of PCMG and PCGAMG. With A = L + D + U and E = D/omega,
//   forward    x = (E + L)^-1 b,
//   backward   x = (E + U)^-1 b,
//   symmetric  x = (E + U)^-1 (2 - omega) E (E + L)^-1 b
// (Saad, Iterative Methods for Sparse Linear Systems (2003), section 4.1). Each is a solve with
// factors I + L E^-1 and E or (E + U) / (2 - omega), so the "chain" of ILU solves does them: sums
// wait for each other by one product, where PETSc's have another with E^-1. Further sweeps,
// other guesses, shifts, Eisenstat's trick, and the blocks of PETSc's inodes (rows of the same
// columns, which it relaxes together) are PETSc's.
#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "arrays.hpp"
#include "plugin.hpp"
#include "tailrace/more/incomplete_lu.hpp"
#include "view.hpp"

namespace tailrace::petsc {

namespace {

constexpr const char* key = "tailrace_sor";

using SorCall = PetscErrorCode (*)(Mat, Vec, PetscReal, MatSORType, PetscReal, PetscInt, PetscInt,
                                   Vec);
SorCall petsc_sor = nullptr;

/// What one call asks for.
struct Sweep {
  bool forward = false, backward = false;
  PetscReal omega = 0;
  bool operator==(const Sweep&) const = default;
};

struct Smoother {
  std::optional<Sweep> sweep;  ///< the one that is timed: the first that was asked for
  std::optional<sparse::IncompleteLu> factors;
  PetscObjectState state = -1, nonzero_state = -1;  ///< what `turns` counts for
  Turns turns;
  std::shared_ptr<Record> record;
};

/// The sweep as L (its diagonal of ones left out) and U in one matrix.
sparse::Csr factors_of(const View& a, const Sweep& sweep) {
  const auto n = static_cast<std::size_t>(a.rows);
  const bool symmetric = sweep.forward && sweep.backward;
  const double scale = symmetric ? 1 / (2 - sweep.omega) : 1;
  std::vector<double> inverse(n);  // of E
  for (std::size_t row = 0; row < n; ++row) {
    const auto begin = a.columns + a.starts[row];
    const auto end = a.columns + a.starts[row + 1];
    const auto found = std::lower_bound(begin, end, static_cast<PetscInt>(row));
    // Without an item there, from_factors() refuses.
    if (found != end) inverse[row] = sweep.omega / a.values[found - a.columns];
  }
  sparse::Csr csr{a.rows, a.rows, {0}, {}, {}};
  csr.row_starts.reserve(n + 1);
  csr.column_indices.reserve(static_cast<std::size_t>(a.starts[n]));
  csr.values.reserve(static_cast<std::size_t>(a.starts[n]));
  for (std::size_t row = 0; row < n; ++row) {
    for (auto k = a.starts[row]; k < a.starts[row + 1]; ++k) {
      const auto column = static_cast<std::size_t>(a.columns[k]);
      if (column < row && !sweep.forward) continue;
      if (column > row && !sweep.backward) continue;
      csr.column_indices.push_back(static_cast<std::int32_t>(column));
      if (column < row) csr.values.push_back(a.values[k] * inverse[column]);
      if (column == row) csr.values.push_back(a.values[k] / sweep.omega * scale);
      if (column > row) csr.values.push_back(a.values[k] * scale);
    }
    csr.row_starts.push_back(static_cast<std::int64_t>(csr.values.size()));
  }
  return csr;
}

void store(Smoother& to, const View& view) {
  try {
    const double start = cpu_s();
    const auto items = view.starts[view.rows];
    if (items < options().least_items) return to.turns.give_up();
    to.factors.emplace(sparse::IncompleteLu::from_factors(
        factors_of(view, *to.sweep),
        {.schedule = "chain", .single_precision = options().single_factors}));
    if (!to.record) to.record = new_record("MatSOR");
    to.record->rows = view.rows;
    to.record->items = items;
    to.record->storage = to.factors->storage();
    to.record->library_s = to.turns.library_s();
    to.record->inspection_s += cpu_s() - start;
  } catch (const std::exception&) {  // no memory, no diagonal, or columns that do not ascend
    to.factors.reset();
    to.turns.give_up();
  }
}

PetscErrorCode follow_state(Mat a, Smoother& to) {
  PetscObjectState state = 0;
  PetscObjectState nonzero_state = 0;
  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(a), &state));
  if (state == to.state) PetscFunctionReturn(PetscErrorCode(0));
  PetscCall(MatGetNonzeroState(a, &nonzero_state));
  if (nonzero_state == to.nonzero_state) {
    to.factors.reset();
    to.turns.restart();
  } else {
    to = {};
  }
  to.state = state;
  to.nonzero_state = nonzero_state;
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Whether a call is a sweep that ours can do, and the one that is timed.
PetscErrorCode can_do(Mat a, Smoother& to, const Sweep& sweep, bool* can) {
  PetscInt inodes = 0;
  PetscInt limit = 0;
  PetscFunctionBegin;
  *can = false;
  if (sweep.omega <= 0 || sweep.omega >= 2) PetscFunctionReturn(PetscErrorCode(0));
  if (sweep.omega == 1) PetscCall(MatInodeGetInodeSizes(a, &inodes, nullptr, &limit));
  if (inodes > 0) PetscFunctionReturn(PetscErrorCode(0));
  if (!to.sweep) to.sweep = sweep;
  *can = sweep == *to.sweep;
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode run(const Smoother& to, Vec b, Vec x) {
  const PetscScalar* from = nullptr;
  PetscScalar* result = nullptr;
  PetscFunctionBegin;
  const auto rows = static_cast<std::size_t>(to.factors->rows());
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArrayWrite(x, &result));
  to.factors->solve({from, rows}, {result, rows});
  PetscCall(VecRestoreArrayWrite(x, &result));
  PetscCall(VecRestoreArrayRead(b, &from));
  const int directions = to.sweep->forward && to.sweep->backward ? 2 : 1;
  PetscCall(PetscLogFlops(static_cast<PetscLogDouble>(directions * to.record->items)));  // as PETSc
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode sor(Mat a, Vec b, PetscReal omega, MatSORType type, PetscReal shift, PetscInt its,
                   PetscInt local_its, Vec x) {
  constexpr int forward = SOR_FORWARD_SWEEP | SOR_LOCAL_FORWARD_SWEEP;
  constexpr int backward = SOR_BACKWARD_SWEEP | SOR_LOCAL_BACKWARD_SWEEP;
  Smoother* to = nullptr;
  bool can = false;
  PetscFunctionBegin;
  PetscCall(attached(reinterpret_cast<PetscObject>(a), key, &to));
  const Sweep sweep{(type & forward) != 0, (type & backward) != 0, omega};
  const bool simple = (type & ~(forward | backward)) == SOR_ZERO_INITIAL_GUESS && shift == 0 &&
                      its * local_its == 1 && b != x && (sweep.forward || sweep.backward);
  if (to != nullptr && !only_petsc_writes(a)) {
    to->factors.reset();
    to = nullptr;
  }
  if (to != nullptr && simple) {
    PetscCall(follow_state(a, *to));
    if (to->turns.ours_wins()) PetscCall(can_do(a, *to, sweep, &can));
  }
  if (!can) {
    PetscCall(petsc_sor(a, b, omega, type, shift, its, local_its, x));
    PetscFunctionReturn(PetscErrorCode(0));
  }
  if (!to->factors && !to->turns.library_is_due()) {
    PetscCall(with_view(
        a, [&](const View& view) { store(*to, view); }, [&] { to->turns.give_up(); }));
  }
  const double start = cpu_s();
  if (!to->factors) {
    PetscCall(petsc_sor(a, b, omega, type, shift, its, local_its, x));
    to->turns.add_library(cpu_s() - start);
    PetscFunctionReturn(PetscErrorCode(0));
  }
  PetscCall(run(*to, b, x));
  ++to->record->ours;
  if (!to->turns.decided()) {
    to->turns.add_ours(*to->record, cpu_s() - start, options().always);
    if (!to->turns.ours_wins()) {
      to->record->storage.clear();
      to->factors.reset();
    }
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace

PetscErrorCode take_over_sor(Mat a) {
  PetscFunctionBegin;
  PetscCall(attach(reinterpret_cast<PetscObject>(a), key, std::make_unique<Smoother>()));
  PetscCall(replace(a, MATOP_SOR, sor, petsc_sor));
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace tailrace::petsc
