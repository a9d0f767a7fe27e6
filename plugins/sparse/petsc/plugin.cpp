// SPDX-License-Identifier: BSD-3-Clause
// What PETSc calls when it loads the plug-in, and the lines at its end.
#include "plugin.hpp"

#include <cstdio>
#include <string>

#include "arrays.hpp"
#include "chooser/tuning_is_off.hpp"
#include "huge_pages.hpp"

namespace tailrace::petsc {

namespace {

Options& the_options() {
  static Options options;
  return options;
}

PetscErrorCode summarize() {
  PetscMPIInt rank = 0;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  const auto huge_pages = stop_huge_pages();  // PETSc may be started again, with other options
  const auto print_huge_pages = [&] {
    if (huge_pages.taken + huge_pages.moved <= 0) return;
    std::fprintf(stderr,
                 "tailrace:   huge pages requested for %.0f MB of new arrays of PETSc, and for "
                 "%.0f MB of arrays that are read often\n",
                 1e-6 * huge_pages.taken, 1e-6 * huge_pages.moved);
  };
  sparse_plugins::finish_records("PETSc", rank == 0 && the_options().summary, print_huge_pages);
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Makes a new, empty SeqAIJ matrix one of ours; its type stays seqaij.
PetscErrorCode take_over(Mat a, MatType, MatReuse, Mat* made) {
  PetscFunctionBegin;
  PetscCall(watch_values(a));
  PetscCall(take_over_multiply(a));
  if (!options().bit_for_bit) PetscCall(take_over_sor(a));
  *made = a;
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode read_options() {
  auto& to = the_options();
  PetscBool bits = PETSC_FALSE;
  PetscBool summary = PETSC_TRUE;
  PetscBool single = PETSC_FALSE;
  PetscBool always = PETSC_FALSE;
  PetscBool blocks = PETSC_TRUE;
  PetscBool huge_pages = PETSC_TRUE;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-tailrace_bit_for_bit", &bits, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-tailrace_summary", &summary, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-tailrace_single_factors", &single, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-tailrace_always", &always, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-tailrace_baij", &blocks, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-tailrace_huge_pages", &huge_pages, nullptr));
  PetscCall(
      PetscOptionsGetInt(nullptr, nullptr, "-tailrace_least_items", &to.least_items, nullptr));
  to.bit_for_bit = bits == PETSC_TRUE;
  to.summary = summary == PETSC_TRUE;
  to.always = always == PETSC_TRUE;
  to.single_factors = single == PETSC_TRUE;
  to.huge_pages = huge_pages == PETSC_TRUE;
  // PETSc's adds a row up in another order
  to.blocks = blocks == PETSC_TRUE && !to.bit_for_bit;
  PetscFunctionReturn(PetscErrorCode(0));
}

/// What the plug-in answers to where it takes nothing over: PETSC_OPTIONS name its type.
PetscErrorCode leave(Mat a, MatType, MatReuse, Mat* made) {
  *made = a;
  return PetscErrorCode(0);
}

/// How the program's PETSc differs from the one of these headers; empty if not at all. It calls
/// nothing that has a number of PETSc's types.
PetscErrorCode compare_builds(std::string* difference) {
  PetscInt version[4] = {0, 0, 0, 0};  // may be of 8 bytes each
  PetscDataType scalar = PETSC_DATATYPE_UNKNOWN;
  PetscDataType real = PETSC_DATATYPE_UNKNOWN;
  PetscBool found = PETSC_FALSE;
  std::size_t index_bytes = 0;
  PetscFunctionBegin;
  PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
  PetscCall(PetscDataTypeFromString("real", &real, &found));
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &index_bytes));
  if (scalar != PETSC_SCALAR || real != PETSC_REAL) {
    *difference = std::string("it computes with numbers of type ") + PetscDataTypes[scalar] +
                  ", the plug-in was built for " + PetscDataTypes[PETSC_SCALAR];
  } else if (index_bytes != sizeof(PetscInt)) {
    *difference = "its indices have " + std::to_string(index_bytes) +
                  " bytes, the plug-in was built for " + std::to_string(sizeof(PetscInt));
  }
  if (!difference->empty()) PetscFunctionReturn(PetscErrorCode(0));
  PetscCall(PetscGetVersionNumber(version, version + 1, version + 2, version + 3));
  if (version[0] != PETSC_VERSION_MAJOR || version[1] != PETSC_VERSION_MINOR) {
    *difference = "it is version " + std::to_string(version[0]) + "." + std::to_string(version[1]) +
                  ", the plug-in was built for " + std::to_string(PETSC_VERSION_MAJOR) + "." +
                  std::to_string(PETSC_VERSION_MINOR);
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

/// A line on rank 0 about `what` PETSc does itself.
PetscErrorCode tell(const char* what, const std::string& why) {
  PetscBool summary = PETSC_TRUE;
  PetscMPIInt rank = 0;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-tailrace_summary", &summary, nullptr));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0 && summary == PETSC_TRUE) {
    std::fprintf(stderr, "tailrace: %s to PETSc: %s\n", what, why.c_str());
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace

const Options& options() { return the_options(); }

}  // namespace tailrace::petsc

/// PETSc calls it after it has loaded libtailrace_petsc.so.
extern "C" __attribute__((visibility("default"))) PetscErrorCode
PetscDLLibraryRegister_tailrace_petsc() {
  using namespace tailrace::petsc;
  std::string why;
  bool finds_calls = false;
  PetscFunctionBegin;
  PetscCall(compare_builds(&why));
  if (why.empty()) PetscCall(read_options());
  if (why.empty() && tailrace::tuning_is_off() && !options().always) {
    why =
        "with TAILRACE_TUNE=off nothing is timed; -tailrace_always replaces all supported "
        "operations";
  }
  PetscCall(MatSeqAIJRegister("tailrace", leave));
  if (!why.empty()) {
    PetscCall(tell("all operations are left", why));
    PetscFunctionReturn(PetscErrorCode(0));
  }
  PetscCall(use_huge_pages());
  PetscCall(find_array_calls(&finds_calls));
  if (finds_calls) {
    PetscCall(MatSeqAIJRegister("tailrace", take_over));
  } else {
    PetscCall(
        tell("AIJ matrices are left", "it does not report who takes a pointer to their values"));
  }
  if (options().blocks) PetscCall(take_over_block_multiply());
  if (!options().bit_for_bit) PetscCall(take_over_solve());
  PetscCall(PetscRegisterFinalize(summarize));
  PetscFunctionReturn(PetscErrorCode(0));
}
