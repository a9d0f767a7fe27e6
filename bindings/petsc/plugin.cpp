// SPDX-License-Identifier: BSD-3-Clause
// What PETSc calls when it loads the plug-in, and the lines at its end.
#include "plugin.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "huge_pages.hpp"

namespace tailrace::petsc {

namespace {

std::vector<std::shared_ptr<Record>>& records() {
  static std::vector<std::shared_ptr<Record>> all;
  return all;
}
Options& the_options() {
  static Options options;
  return options;
}

void print(const Record& record) {
  std::fprintf(stderr, "tailrace:   %s, %td rows, %td items: ", record.operation, record.rows,
               record.items);
  if (record.storage.empty()) {
    std::fprintf(stderr, "PETSc's own, as it is no slower (%.3f ms, ours %.3f ms)\n",
                 1e3 * record.petsc_s, 1e3 * record.ours_s);
    return;
  }
  if (record.ours == 0) {  // as MatMultAdd alone, in the part of other ranks
    std::fprintf(stderr, "%s, not timed; inspection %.1f ms\n", record.storage.c_str(),
                 1e3 * record.inspection_s);
    return;
  }
  if (!record.timed()) {  // a factorisation that was needed once
    std::fprintf(stderr, "%s; %.3f ms, %lld times\n", record.storage.c_str(), 1e3 * record.ours_s,
                 static_cast<long long>(record.ours));
    return;
  }
  std::fprintf(stderr, "%s; %.3f ms in place of %.3f ms, %lld times; inspection %.1f ms\n",
               record.storage.c_str(), 1e3 * record.ours_s, 1e3 * record.petsc_s,
               static_cast<long long>(record.ours), 1e3 * record.inspection_s);
}

/// Those that saved most come first, but before all others the best of each operation.
void sort(std::vector<std::shared_ptr<Record>>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a->saved_s() > b->saved_s(); });
  auto sorted = all.begin();
  for (auto at = all.begin(); at != all.end(); ++at) {
    const auto same = [&](const auto& other) {
      return std::string_view(other->operation) == (*at)->operation;
    };
    if (std::any_of(all.begin(), sorted, same)) continue;
    std::rotate(sorted, at, at + 1);
    ++sorted;
  }
}

PetscErrorCode summarize() {
  constexpr std::size_t most_lines = 6;
  PetscMPIInt rank = 0;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  const auto huge_pages = stop_huge_pages();  // PETSc may be started again, with other options
  auto& all = records();
  std::erase_if(all, [](const auto& record) { return record->rows == 0; });
  if (rank == 0 && the_options().summary) {
    double saved_s = 0;
    std::size_t taken = 0;
    for (const auto& record : all) {
      saved_s += record->saved_s();
      taken += record->storage.empty() ? 0 : 1;
    }
    sort(all);
    std::fprintf(stderr,
                 "tailrace: rank 0 saved about %.3g s: %zu of %zu operations that were looked at "
                 "taken over\n",
                 saved_s, taken, all.size());
    if (huge_pages.taken + huge_pages.moved > 0) {
      std::fprintf(stderr,
                   "tailrace:   huge pages asked for %.0f MB of PETSc's new arrays, for %.0f MB of "
                   "those read often\n",
                   1e-6 * huge_pages.taken, 1e-6 * huge_pages.moved);
    }
    for (std::size_t i = 0; i < std::min(most_lines, all.size()); ++i) print(*all[i]);
  }
  all.clear();
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Makes a new, empty SeqAIJ matrix one of ours; its type stays seqaij.
PetscErrorCode take_over(Mat a, MatType, MatReuse, Mat* made) {
  PetscFunctionBegin;
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

}  // namespace

double Record::saved_s() const {
  if (storage.empty() || ours == 0 || !timed()) return 0;
  return (petsc_s - ours_s) * static_cast<double>(ours) - inspection_s;
}

std::shared_ptr<Record> new_record(const char* operation) {
  auto record = std::make_shared<Record>();
  record->operation = operation;
  records().push_back(record);
  return record;
}

const Options& options() { return the_options(); }

}  // namespace tailrace::petsc

/// PETSc calls it after it has loaded libtailrace_petsc.so.
extern "C" __attribute__((visibility("default"))) PetscErrorCode
PetscDLLibraryRegister_tailrace_petsc() {
  using namespace tailrace::petsc;
  PetscFunctionBegin;
  PetscCall(read_options());
  PetscCall(use_huge_pages());
  PetscCall(MatSeqAIJRegister("tailrace", take_over));
  if (options().blocks) PetscCall(take_over_block_multiply());
  if (!options().bit_for_bit) PetscCall(take_over_solve());
  PetscCall(PetscRegisterFinalize(summarize));
  PetscFunctionReturn(PetscErrorCode(0));
}
