// SPDX-License-Identifier: BSD-3-Clause
// PETSc lets a program write to the values of a SeqAIJ matrix without telling the matrix: the
// arrays of MatCreateSeqAIJWithArrays and MatCreateMPIAIJWithSplitArrays are the program's own, and
// a pointer from MatSeqAIJGetArray stays valid after MatSeqAIJRestoreArray, or without it. So the
// plug-in asks who takes a pointer. MatSeqAIJGetArray and its relatives call a function of the
// matrix where there is one (PETSc has it for devices): the plug-in puts its own there. It walks
// the stack to the caller. A caller in libpetsc gives the pointer back before any product; any
// other may keep it, and from then on the matrix is left to PETSc. Where these functions lie in
// PETSc's private structure is found at the start: each word of an empty matrix is tried, until
// MatSeqAIJGetArray calls what is put there. Cost: some ten nanoseconds for each MatSetValues,
// which takes the pointer inside PETSc, and a few microseconds for each new matrix; nothing for a
// product.
#include "arrays.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include <cstddef>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <petsc/private/matimpl.h>  // the matrix's private structure

#include "plugin.hpp"

namespace tailrace::petsc {

namespace {

using ArrayCall = PetscErrorCode (*)(Mat, PetscScalar**);
using CsrCall = PetscErrorCode (*)(Mat, const PetscInt**, const PetscInt**, PetscScalar**,
                                   PetscMemType*);
using ValuesCall = PetscErrorCode (*)(Mat, PetscInt, const PetscInt*, PetscInt, const PetscInt*,
                                      const PetscScalar*, InsertMode);

/// Bytes from the beginning of the private structure; 0: not found.
struct Offsets {
  std::size_t get = 0, get_write = 0, get_csr = 0;
};
Offsets offsets;

std::size_t data_bytes = 0;  // of the structure, while it is looked for
bool probed = false;         // the function that was put there was called

template <class Call>
Call& call_at(Mat a, std::size_t offset) {
  return *reinterpret_cast<Call*>(static_cast<std::byte*>(a->data) + offset);
}

// --- whose a frame of the stack is ---

enum class Owner { program, petsc, with_arrays, with_split_arrays };

Owner find_owner(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return Owner::program;
  std::string_view file(info.dli_fname);
  file.remove_prefix(file.rfind('/') + 1);
  if (!file.starts_with("libpetsc")) return Owner::program;
  const std::string_view name(info.dli_sname == nullptr ? "" : info.dli_sname);
  if (name.ends_with('_')) return Owner::program;  // what a Fortran program calls
  if (name == "MatCreateSeqAIJWithArrays") return Owner::with_arrays;
  if (name == "MatCreateMPIAIJWithSplitArrays") return Owner::with_split_arrays;
  return Owner::petsc;
}

Owner owner_of(const void* address) {
  thread_local std::unordered_map<const void*, Owner> known;  // dladdr() takes 0.1 ms
  const auto found = known.find(address);
  if (found != known.end()) return found->second;
  return known.emplace(address, find_owner(address)).first->second;
}

/// Calls visit(return address) for the callers of `from`, a return address on the stack, nearest
/// first, until it is true.
template <class Visit>
void walk_callers(const void* from, Visit visit) {
  struct Walk {
    const void* from;
    Visit* visit;
    bool begun;
  } walk{from, &visit, false};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* held) {
        auto& to = *static_cast<Walk*>(held);
        const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
        if (to.begun && (*to.visit)(address)) return _URC_END_OF_STACK;
        to.begun = to.begun || address == to.from;
        return _URC_NO_REASON;
      },
      &walk);
}

/// Whether the function that `inside` lies in was called by the program.
bool program_called(const void* inside) {
  bool by_program = true;
  walk_callers(inside, [&](const void* caller) {
    by_program = owner_of(caller) == Owner::program;
    return true;
  });
  return by_program;
}

/// Whether a matrix that is made now, by PETSc's function that `inside` lies in, gets arrays of the
/// program.
bool gets_arrays_of_program(const void* inside) {
  bool gets = false;
  bool in_with_arrays = false;
  walk_callers(inside, [&](const void* caller) {
    const auto owner = owner_of(caller);
    gets = owner == Owner::with_split_arrays || (in_with_arrays && owner == Owner::program);
    in_with_arrays = owner == Owner::with_arrays;
    return gets || owner == Owner::program;
  });
  return gets;
}

// --- the functions of a matrix that is watched ---

int in_set_values = 0;  // PETSc takes the pointer in each MatSetValues: no walk then

PetscErrorCode get(Mat a, PetscScalar** array);
PetscErrorCode get_write(Mat a, PetscScalar** array);
PetscErrorCode get_csr(Mat a, const PetscInt** starts, const PetscInt** columns,
                       PetscScalar** values, PetscMemType* type);

void watch(Mat a, bool on) {
  call_at<ArrayCall>(a, offsets.get) = on ? get : nullptr;
  call_at<ArrayCall>(a, offsets.get_write) = on ? get_write : nullptr;
  call_at<CsrCall>(a, offsets.get_csr) = on ? get_csr : nullptr;
}

PetscErrorCode get_watched(Mat a, PetscScalar** array, const void* inside) {
  const PetscScalar* values = nullptr;
  PetscFunctionBegin;
  if (in_set_values == 0 && program_called(inside)) watch(a, false);
  PetscCall(MatSeqAIJGetArrayRead(a, &values));
  *array = const_cast<PetscScalar*>(values);
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode get(Mat a, PetscScalar** array) {
  return get_watched(a, array, __builtin_return_address(0));
}
PetscErrorCode get_write(Mat a, PetscScalar** array) {
  return get_watched(a, array, __builtin_return_address(0));
}

PetscErrorCode get_csr(Mat a, const PetscInt** starts, const PetscInt** columns,
                       PetscScalar** values, PetscMemType* type) {
  PetscFunctionBegin;
  const bool by_petsc = !program_called(__builtin_return_address(0));
  watch(a, false);  // PETSc's function does what it does without the plug-in
  PetscCall(MatSeqAIJGetCSRAndMemType(a, starts, columns, values, type));
  if (by_petsc) watch(a, true);
  PetscFunctionReturn(PetscErrorCode(0));
}

ValuesCall petsc_set_values = nullptr;
ValuesCall petsc_set_values_of_ranks = nullptr;
PetscErrorCode (*petsc_retrieve)(Mat) = nullptr;
PetscErrorCode (*petsc_create_of_ranks)(Mat) = nullptr;

template <ValuesCall& petsc>
PetscErrorCode set_values(Mat a, PetscInt rows, const PetscInt* row, PetscInt columns,
                          const PetscInt* column, const PetscScalar* values, InsertMode mode) {
  ++in_set_values;
  const auto error = petsc(a, rows, row, columns, column, values, mode);
  --in_set_values;
  return error;
}

/// MatRetrieveValues, the one change of PETSc's own that it does not count.
PetscErrorCode retrieve(Mat a) {
  PetscFunctionBegin;
  watch(a, false);
  PetscCall(petsc_retrieve(a));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// New MPIAIJ matrices, whose MatSetValues takes the pointers of both local parts.
PetscErrorCode create_of_ranks(Mat a) {
  PetscFunctionBegin;
  PetscCall(petsc_create_of_ranks(a));
  PetscCall(replace(a, MATOP_SET_VALUES, set_values<petsc_set_values_of_ranks>,
                    petsc_set_values_of_ranks));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode take_over_creation() {
  PetscErrorCode (*found)(Mat) = nullptr;
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(PetscFunctionListFind(MatList, MATMPIAIJ, &found));
  if (found == nullptr || found == create_of_ranks) PetscFunctionReturn(PetscErrorCode(0));
  petsc_create_of_ranks = found;
  PetscCall(MatRegister(MATMPIAIJ, create_of_ranks));
  PetscFunctionReturn(PetscErrorCode(0));
}

// --- where the functions lie ---

decltype(PetscTrMalloc) petsc_malloc = nullptr;
std::unordered_map<const void*, std::size_t> allocated;

PetscErrorCode allocate(std::size_t bytes, PetscBool clear, int line, const char function[],
                        const char file[], void** memory) {
  const auto error = petsc_malloc(bytes, clear, line, function, file, memory);
  allocated[*memory] = bytes;
  return error;
}

PetscErrorCode probe(Mat, PetscScalar** array) {
  probed = true;
  *array = nullptr;
  return PetscErrorCode(0);
}
PetscErrorCode probe_csr(Mat, const PetscInt**, const PetscInt**, PetscScalar**, PetscMemType*) {
  probed = true;
  return PetscErrorCode(0);
}

/// The place of the empty matrix `a` at which `ours` has to lie so that `call` calls it.
template <class Ours, class Call>
std::size_t find_place(Mat a, Ours ours, Call call) {
  for (std::size_t offset = 0; offset + sizeof ours <= data_bytes; offset += sizeof ours) {
    auto& word = call_at<Ours>(a, offset);
    if (word != nullptr) continue;
    probed = false;
    word = ours;
    const auto error = call();
    word = nullptr;
    if (error == 0 && probed) return offset;
  }
  return 0;
}

}  // namespace

PetscErrorCode find_array_calls(bool* found) {
  Mat a = nullptr;
  PetscScalar* values = nullptr;
  const PetscInt* starts = nullptr;
  const PetscInt* columns = nullptr;
  PetscMemType type = PETSC_MEMTYPE_HOST;
  PetscFunctionBegin;
  petsc_malloc = std::exchange(PetscTrMalloc, allocate);
  const auto error = MatCreate(PETSC_COMM_SELF, &a) != 0 || MatSetType(a, MATSEQAIJ) != 0;
  PetscTrMalloc = petsc_malloc;
  PetscCheck(!error, PETSC_COMM_SELF, PETSC_ERR_PLIB, "no matrix for the plug-in");
  data_bytes = allocated.contains(a->data) ? allocated.at(a->data) : 0;
  allocated.clear();
  PetscCall(MatSetSizes(a, 1, 1, 1, 1));
  PetscCall(MatSeqAIJSetPreallocation(a, 1, nullptr));
  offsets.get = find_place(a, probe, [&] { return MatSeqAIJGetArray(a, &values); });
  offsets.get_write = find_place(a, probe, [&] { return MatSeqAIJGetArrayWrite(a, &values); });
  offsets.get_csr = find_place(a, probe_csr, [&] {
    return MatSeqAIJGetCSRAndMemType(a, &starts, &columns, &values, &type);
  });
  PetscCall(MatDestroy(&a));
  *found = offsets.get != 0 && offsets.get_write != 0 && offsets.get_csr != 0;
  if (*found) PetscCall(take_over_creation());
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode watch_values(Mat a) {
  PetscFunctionBegin;
  if (gets_arrays_of_program(__builtin_return_address(0))) PetscFunctionReturn(PetscErrorCode(0));
  watch(a, true);
  PetscCall(replace(a, MATOP_SET_VALUES, set_values<petsc_set_values>, petsc_set_values));
  PetscCall(replace_composed(a, "MatRetrieveValues_C", retrieve, petsc_retrieve));
  PetscFunctionReturn(PetscErrorCode(0));
}

bool only_petsc_writes(Mat a) { return call_at<ArrayCall>(a, offsets.get) == get; }

}  // namespace tailrace::petsc
