// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// One PETSc operation that tailrace::sparse may take over for one matrix: PETSc does it first, and
// is timed; then ours is made and timed; then the faster goes on.
#include <memory>

#include <petsc/private/petscimpl.h>  // PetscObjectStateGet
#include <petscmat.h>

#include "plugins/sparse/records.hpp"
#include "plugins/sparse/turns.hpp"

namespace tailrace::petsc {

using sparse_plugins::cpu_s;
using sparse_plugins::new_record;
using sparse_plugins::Record;
using sparse_plugins::Turns;

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
