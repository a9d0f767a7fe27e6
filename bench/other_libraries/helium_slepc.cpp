// SPDX-License-Identifier: BSD-3-Clause
// SLEPc with real numbers, as Debian has it beside a real PETSc: a wave is its real parts, then its
// imaginary ones, and -i H the matrix (-A slope, h0; -h0, -A slope).
#include <slepceps.h>
#include <slepcmfn.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "../helium_other.hpp"

namespace bench {

namespace {

void check(PetscErrorCode code) {
  if (code != 0) throw std::runtime_error("SLEPc failed with error " + std::to_string(code));
}

void start_slepc() {
  PetscBool up = PETSC_FALSE;
  check(SlepcInitialized(&up));
  if (up == PETSC_FALSE) check(SlepcInitializeNoArguments());
}

/// A matrix and two vectors of PETSc; kept to the end of the program, as SLEPc is not finalized.
struct Aij {
  std::vector<PetscInt> starts, columns;
  std::vector<PetscScalar> values;
  Mat matrix = nullptr;
  Vec in = nullptr, out = nullptr;

  explicit Aij(const Rows& rows)
      : starts(rows.starts.begin(), rows.starts.end()),
        columns(rows.columns.begin(), rows.columns.end()),
        values(rows.values.begin(), rows.values.end()) {
    start_slepc();
    const auto n = static_cast<PetscInt>(rows.size());
    check(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, starts.data(), columns.data(),
                                    values.data(), &matrix));
    check(MatCreateVecs(matrix, &in, &out));
  }
};

void put(const std::vector<double>& from, Vec to) {
  PetscScalar* place = nullptr;
  check(VecGetArray(to, &place));
  std::copy(from.begin(), from.end(), place);
  check(VecRestoreArray(to, &place));
}

std::vector<double> taken(Vec from) {
  PetscInt n = 0;
  check(VecGetLocalSize(from, &n));
  const PetscScalar* place = nullptr;
  check(VecGetArrayRead(from, &place));
  std::vector<double> values(place, place + n);
  check(VecRestoreArrayRead(from, &place));
  return values;
}

std::vector<double> lowest(const Aij& a, double tolerance, int vectors,
                           const std::vector<double>& guess) {
  EPS eps = nullptr;
  check(EPSCreate(PETSC_COMM_SELF, &eps));
  check(EPSSetOperators(eps, a.matrix, nullptr));
  check(EPSSetProblemType(eps, EPS_HEP));
  check(EPSSetType(eps, EPSKRYLOVSCHUR));
  check(EPSSetWhichEigenpairs(eps, EPS_SMALLEST_REAL));
  check(EPSSetConvergenceTest(eps, EPS_CONV_ABS));
  check(EPSSetTolerances(eps, tolerance, 10000));
  check(EPSSetDimensions(eps, 1, vectors == 0 ? PETSC_DEFAULT : vectors, PETSC_DEFAULT));
  put(guess, a.in);
  Vec start = a.in;
  check(EPSSetInitialSpace(eps, 1, &start));
  check(EPSSolve(eps));
  PetscInt converged = 0;
  check(EPSGetConverged(eps, &converged));
  if (converged < 1) throw std::runtime_error("SLEPc: the ground state has not converged");
  check(EPSGetEigenvector(eps, 0, a.out, nullptr));
  check(EPSDestroy(&eps));
  return taken(a.out);
}

/// (-A slope, h0; -h0, -A slope).
Rows generator(const HeliumOperator& helium, double field) {
  const auto n = static_cast<std::int32_t>(helium.h0().size());
  Rows out;
  const auto add = [&](const Rows& from, std::size_t row, double factor, std::int32_t shift) {
    for (auto k = from.starts[row]; k < from.starts[row + 1]; ++k) {
      out.columns.push_back(from.columns[static_cast<std::size_t>(k)] + shift);
      out.values.push_back(factor * from.values[static_cast<std::size_t>(k)]);
    }
  };
  for (const bool imaginary : {false, true}) {
    for (std::size_t row = 0; row < helium.h0().size(); ++row) {
      if (imaginary) add(helium.h0(), row, -1, 0);
      add(helium.slope(), row, -field, imaginary ? n : 0);
      if (!imaginary) add(helium.h0(), row, 1, n);
      out.starts.push_back(static_cast<std::int32_t>(out.columns.size()));
    }
  }
  return out;
}

MFN make_mfn(const Aij& a, const char* type, int vectors, double dt) {
  MFN mfn = nullptr;
  check(MFNCreate(PETSC_COMM_SELF, &mfn));
  check(MFNSetOperator(mfn, a.matrix));
  FN function = nullptr;
  check(MFNGetFN(mfn, &function));
  check(FNSetType(function, FNEXP));
  check(FNSetScale(function, dt, 1));
  check(MFNSetType(mfn, type));
  check(MFNSetDimensions(mfn, vectors));
  check(MFNSetErrorIfNotConverged(mfn, PETSC_TRUE));
  return mfn;
}

}  // namespace

std::vector<GroundPeer> slepc_ground(const Rows& h0, double tolerance) {
  auto* const a = new Aij(h0);
  std::vector<GroundPeer> peers;
  for (const int vectors : {0, 40, 80}) {
    const auto size = vectors == 0 ? "usual size" : std::to_string(vectors) + " vectors";
    peers.push_back({"SLEPc Krylov-Schur, " + size, [=](const std::vector<double>& guess) {
                       return lowest(*a, tolerance, vectors, guess);
                     }});
  }
  return peers;
}

std::vector<StepPeer> slepc_steps(const HeliumOperator& helium, double field, double dt) {
  auto* const a = new Aij(generator(helium, field));
  std::vector<StepPeer> peers;
  for (const char* type : {MFNKRYLOV, MFNEXPOKIT}) {
    for (const int vectors : {10, 20, 30}) {
      MFN mfn = make_mfn(*a, type, vectors, dt);
      const auto run = [=](const std::vector<double>& wave, int steps, double tolerance) {
        check(MFNSetTolerances(mfn, tolerance, 1000));
        put(wave, a->in);
        for (int step = 0; step < steps; ++step) {
          check(MFNSolve(mfn, a->in, a->out));
          check(VecCopy(a->out, a->in));
        }
        return taken(a->in);
      };
      peers.push_back(
          {"SLEPc " + std::string(type) + ", " + std::to_string(vectors) + " vectors", run});
    }
  }
  return peers;
}

}  // namespace bench
