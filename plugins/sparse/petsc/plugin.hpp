// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// One PETSc operation that tailrace::sparse may take over for one matrix: PETSc does it first, and
// is timed; then ours is made and timed; then the faster goes on.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>
#include <memory>
#include <string>

#include <petsc/private/petscimpl.h>  // PetscObjectStateGet
#include <petscmat.h>

#include "chooser/trial.hpp"

namespace tailrace::petsc {

/// What was done to one matrix; kept after it for the line at the end.
struct Record {
  const char* operation = "";
  std::ptrdiff_t rows = 0, items = 0;
  std::string storage;                                       ///< empty: PETSc's own was kept
  double petsc_s = std::numeric_limits<double>::infinity();  ///< CPU time of one, the fastest seen
  double ours_s = std::numeric_limits<double>::infinity();
  double inspection_s = 0;
  std::int64_t ours = 0;  ///< times that ours was called
  bool timed() const { return petsc_s < std::numeric_limits<double>::infinity(); }

  double saved_s() const;
};

/// A new record in the list of all.
std::shared_ptr<Record> new_record(const char* operation);

/// Options of the plug-in, from PETSc's data base.
struct Options {
  bool bit_for_bit = false;     ///< -tailrace_bit_for_bit
  bool summary = true;          ///< -tailrace_summary
  PetscInt least_items = 5000;  ///< -tailrace_least_items: smaller matrices are left alone
  bool always = false;          ///< -tailrace_always: ours, whatever the times
  bool single_factors = false;  ///< -tailrace_single_factors: ILU and SOR in single precision
  bool blocks = true;           ///< -tailrace_baij: takes BAIJ matrices, too
  bool huge_pages = true;       ///< -tailrace_huge_pages: asks for them, for PETSc's large arrays
};
const Options& options();

inline double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Whose turn it is. PETSc has its turns first, as the inspection costs about ten multiplies and
/// many matrices never reach it.
class Turns {
 public:
  /// Both are timed so often.
  static constexpr int petsc_runs = 3, our_runs = 3;

  bool petsc_is_due() const { return petsc_runs_ < petsc_runs; }
  bool decided() const { return given_up_ || trial_.turns(1) >= our_runs; }
  bool ours_wins() const { return !given_up_; }
  void give_up() { given_up_ = true; }
  /// Other values: the verdict stays, PETSc does the first multiplies again.
  void restart() { petsc_runs_ = given_up_ ? petsc_runs : 1; }
  void add_petsc() { ++petsc_runs_; }
  void add_petsc(double time_s) {
    trial_.add(0, time_s);
    add_petsc();
  }
  /// The shortest that PETSc took; infinite where it was not timed.
  double petsc_s() const { return trial_.shortest_s(0); }
  void add_ours(Record& record, double time_s) {
    trial_.add(1, time_s);
    record.ours_s = std::min(record.ours_s, time_s);
    given_up_ = decided() && trial_.winner() == 0 && !options().always;
  }

 private:
  int petsc_runs_ = 0;
  bool given_up_ = false;
  chooser::Trial trial_{2, our_runs};
};

/// Attaches `pointer` to a PETSc object, which destroys it with itself.
template <class T>
PetscErrorCode attach(PetscObject object, const char* name, std::unique_ptr<T> pointer) {
  PetscContainer container = nullptr;
  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscContainerSetPointer(container, pointer.release()));
  PetscCall(PetscContainerSetUserDestroy(container, [](void* held) -> PetscErrorCode {
    delete static_cast<T*>(held);
    return PetscErrorCode(0);
  }));
  PetscCall(PetscObjectCompose(object, name, reinterpret_cast<PetscObject>(container)));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// What is attached, or null.
template <class T>
PetscErrorCode attached(PetscObject object, const char* name, T** pointer) {
  PetscObject found = nullptr;
  void* held = nullptr;
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery(object, name, &found));
  if (found != nullptr) {
    PetscCall(PetscContainerGetPointer(reinterpret_cast<PetscContainer>(found), &held));
  }
  *pointer = static_cast<T*>(held);
  PetscFunctionReturn(PetscErrorCode(0));
}

using Operation = void (*)();

/// Puts `ours` in the place of an operation, whose old function goes to `petsc`.
template <class Call>
PetscErrorCode replace(Mat a, MatOperation operation, Call ours, Call& petsc) {
  Operation found = nullptr;
  PetscFunctionBegin;
  PetscCall(MatGetOperation(a, operation, &found));
  if (reinterpret_cast<Call>(found) != ours) petsc = reinterpret_cast<Call>(found);
  PetscCall(MatSetOperation(a, operation, reinterpret_cast<Operation>(ours)));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// The same of a function that the object has by name, if it has one.
template <class Call>
PetscErrorCode replace_composed(Mat a, const char* name, Call ours, Call& petsc) {
  const auto object = reinterpret_cast<PetscObject>(a);
  Operation found = nullptr;
  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction(object, name, &found));
  if (found == nullptr) PetscFunctionReturn(PetscErrorCode(0));
  if (reinterpret_cast<Call>(found) != ours) petsc = reinterpret_cast<Call>(found);
  PetscCall(PetscObjectComposeFunction(object, name, ours));
  PetscFunctionReturn(PetscErrorCode(0));
}

// multiply.cpp, sor.cpp: make an operation of a new, empty SeqAIJ matrix ours (its type stays).
PetscErrorCode take_over_multiply(Mat a);
PetscErrorCode take_over_sor(Mat a);
// multiply.cpp: from now on, new SeqBAIJ matrices multiply by ours.
PetscErrorCode take_over_block_multiply();
// solve.cpp: from now on, ILU factors of SeqAIJ matrices, and of SeqBAIJ, are looked at.
PetscErrorCode take_over_solve();

}  // namespace tailrace::petsc
