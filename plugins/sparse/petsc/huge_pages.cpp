// SPDX-License-Identifier: BSD-3-Clause
// Products and solves with large blocks run at the speed of memory, which in pages of 4 KiB is that
// of address translation (on a Zen 4 17 to 20 GB/s in place of 27 to 32). So PETSc's own large
// arrays, of vectors, of block matrices and factors, are taken in huge pages before anything is
// written to them, which costs less than to fill as much in small ones. A virtual machine may give
// a huge page only after its host did, in 6 ms in place of 0.25: so pages are taken one by one, and
// where many are slow no more. Arrays that turn out to be read often are moved later.
#include "huge_pages.hpp"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "plugin.hpp"
#include "tailrace/more/huge_pages.hpp"
#include "view.hpp"

namespace tailrace::petsc {

namespace {

constexpr std::ptrdiff_t least_bytes = 2 * huge_page;

decltype(PetscTrMalloc) petsc_malloc = nullptr;
bool all_is_written = false;  // of what PETSc allocates now
int num_fast = 0;
int num_slow = 0;
HugePages counted;

bool are_slow() {
  constexpr int most_slow = 4;     // and
  constexpr int paid_by_fast = 8;  // one for so many fast ones, which have saved as much
  return num_slow > most_slow + num_fast / paid_by_fast;
}

/// Takes huge pages for memory that is written as a whole soon. What the system does not grant, or
/// was written before, stays in small ones.
void take_pages(void* memory, std::ptrdiff_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr double slow_s = 2e-3;
  auto* const end = static_cast<std::byte*>(memory) + bytes;
  for (auto* page = first_huge_page(end - bytes); page + huge_page <= end; page += huge_page) {
    if (are_slow() || madvise(page, huge_page, MADV_HUGEPAGE) != 0) return;
    const double start = cpu_s();
    *const_cast<volatile std::byte*>(page) = std::byte{};
    ++(cpu_s() - start > slow_s ? num_slow : num_fast);
    counted.taken += huge_page;
  }
#endif
}

/// As PETSc's, by which it allocates.
PetscErrorCode allocate(std::size_t bytes, PetscBool clear, int line, const char function[],
                        const char file[], void** memory) {
  if (bytes < least_bytes || (clear == PETSC_FALSE && !all_is_written)) {
    return petsc_malloc(bytes, clear, line, function, file, memory);
  }
  const auto error = petsc_malloc(bytes, PETSC_FALSE, line, function, file, memory);
  if (error != 0) return error;
  take_pages(*memory, static_cast<std::ptrdiff_t>(bytes));
  if (clear == PETSC_TRUE) std::memset(*memory, 0, bytes);
  return error;
}

// PETSc's preallocation of blocks, which clears them at once.
PetscErrorCode (*petsc_preallocate_blocks)(Mat, PetscInt, PetscInt, const PetscInt*) = nullptr;

PetscErrorCode preallocate_blocks(Mat a, PetscInt block, PetscInt each, const PetscInt* blocks) {
  const WrittenAsWhole values;
  return petsc_preallocate_blocks(a, block, each, blocks);
}

template <class T>
void move(const T* items, std::size_t number) {
  const auto bytes = static_cast<std::ptrdiff_t>(number * sizeof(T));
  if (bytes < least_bytes) return;
  move_to_huge_pages(const_cast<T*>(items), bytes);  // no item changes
  counted.moved += static_cast<double>(bytes);
}

}  // namespace

WrittenAsWhole::WrittenAsWhole() { all_is_written = true; }
WrittenAsWhole::~WrittenAsWhole() { all_is_written = false; }

PetscErrorCode take_over_preallocation(Mat a) {
  PetscFunctionBegin;
  if (!options().huge_pages) PetscFunctionReturn(PetscErrorCode(0));
  PetscCall(replace_composed(a, "MatSeqBAIJSetPreallocation_C", preallocate_blocks,
                             petsc_preallocate_blocks));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode add_read(Mat a, int& reads) {
  // A page that the host has to give first costs what it gains in so many reads.
  constexpr int many = 150;
  MatFactorType factor = MAT_FACTOR_NONE;
  PetscFunctionBegin;
  if (!options().huge_pages || reads >= many || ++reads < many) {
    PetscFunctionReturn(PetscErrorCode(0));
  }
  PetscCall(MatGetFactorType(a, &factor));
  const auto move_arrays = [&](const View& view) {
    const auto blocks = static_cast<std::size_t>(
        factor == MAT_FACTOR_NONE ? view.starts[view.rows] : num_factor_blocks(view));
    move(view.values, blocks * view.block_items());
    move(view.columns, blocks);
  };
  PetscCall(with_view(a, move_arrays, [] {}));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode use_huge_pages() {
  PetscBool debugs = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(PetscMallocGetDebug(&debugs, nullptr, nullptr));
  if (!options().huge_pages || debugs == PETSC_TRUE || PetscTrMalloc == allocate) {
    PetscFunctionReturn(PetscErrorCode(0));
  }
  petsc_malloc = PetscTrMalloc;
  PetscTrMalloc = allocate;
  PetscFunctionReturn(PetscErrorCode(0));
}

HugePages stop_huge_pages() {
  if (PetscTrMalloc == allocate) PetscTrMalloc = petsc_malloc;
  num_fast = num_slow = 0;
  return std::exchange(counted, {});
}

}  // namespace tailrace::petsc
