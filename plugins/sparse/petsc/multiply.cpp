// SPDX-License-Identifier: BSD-3-Clause
// MatMult, MatMultTranspose and both with Add of SeqAIJ matrices, so also of the local parts of
// MPIAIJ. The transposed ones are timed by themselves, on the copy of MatMult. The type stays
// "seqaij": whatever asks for it works as before. A copy in our format is made after the third
// multiply with the same values; with other values in the same structure, after the first.
// Of SeqBAIJ matrices with blocks of 2 to 16, MatMult and MatMultAdd alike, from PETSc's own
// values.
#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "huge_pages.hpp"
#include "plugin.hpp"
#include "tailrace/more/borrowed_blocks.hpp"
#include "tailrace/sparse.hpp"
#include "view.hpp"

namespace tailrace::petsc {

namespace {

constexpr const char* key = "tailrace_multiply";

using MultiplyCall = PetscErrorCode (*)(Mat, Vec, Vec);
using MultiplyAddCall = PetscErrorCode (*)(Mat, Vec, Vec, Vec);
MultiplyCall petsc_multiply = nullptr;
MultiplyAddCall petsc_multiply_add = nullptr;
MultiplyCall petsc_transposed = nullptr;
MultiplyAddCall petsc_transposed_add = nullptr;

// Of SeqBAIJ. PETSc chooses its multiply by the size of blocks once that is known; [0]: before.
constexpr PetscInt largest_block = 16;  // of the kernels
PetscErrorCode (*petsc_create_blocks)(Mat) = nullptr;
PetscErrorCode (*petsc_assembly_end)(Mat, MatAssemblyType) = nullptr;
std::array<MultiplyCall, largest_block + 1> petsc_block_multiply{};
std::array<MultiplyAddCall, largest_block + 1> petsc_block_multiply_add{};

struct Multiplier {
  std::optional<sparse::Matrix> matrix;
  std::optional<sparse::BorrowedBlocks> blocks;  ///< in its place, of SeqBAIJ
  PetscObjectState state = -1;                   ///< of the values that `turns` counts for
  PetscObjectState nonzero_state = -1;           ///< of the structure of `matrix` or `blocks`
  bool in_place = false;                         ///< of SeqBAIJ: products read PETSc's values
  bool current = false;          ///< `matrix` has these values, or `blocks` is there
  std::ptrdiff_t full_rows = 0;  ///< rows with an item
  std::vector<double> product;
  Turns turns;
  std::shared_ptr<Record> record;

  // Of MatMultTranspose, which is ours only while `current`.
  Turns transposed_turns;
  std::shared_ptr<Record> transposed_record;

  int reads = 0;  ///< of PETSc's arrays
  bool made() const { return matrix || blocks; }
  void drop() {
    matrix.reset();
    blocks.reset();
  }
  std::ptrdiff_t rows() const { return matrix ? matrix->rows() : blocks->rows(); }
  std::ptrdiff_t num_items() const { return matrix ? matrix->num_items() : blocks->num_items(); }
};

PetscErrorCode follow_state(Mat a, Multiplier& to) {
  PetscObjectState state = 0;
  PetscObjectState nonzero_state = 0;
  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(a), &state));
  if (state == to.state) PetscFunctionReturn(PetscErrorCode(0));
  PetscCall(MatGetNonzeroState(a, &nonzero_state));
  to.state = state;
  to.current = false;
  if (nonzero_state == to.nonzero_state && (to.made() || to.turns.decided())) {
    to.turns.restart();
  } else {
    to.drop();
    to.turns = {};
    to.reads = 0;
    to.record.reset();
    to.transposed_turns = {};
    to.transposed_record.reset();
  }
  to.nonzero_state = nonzero_state;
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Makes `to.matrix` or `to.blocks`; what it is in words.
std::string make(Multiplier& to, const View& view, PetscInt columns,
                 std::span<const double> values) {
  const auto rows = static_cast<std::size_t>(view.rows);
  if (view.block == 1) {
    sparse::MatrixOptions wish;
    wish.bit_for_bit = options().bit_for_bit;
    to.matrix.emplace(columns, std::span(view.starts, rows + 1),
                      std::span(view.columns, values.size()), values, wish);
    return to.matrix->storage();
  }
  to.blocks.emplace(static_cast<int>(view.block), columns / view.block,
                    std::vector<std::int64_t>(view.starts, view.starts + rows + 1),
                    std::vector<std::int32_t>(view.columns, view.columns + view.starts[rows]));
  const auto edge = std::to_string(view.block);
  return "PETSc's blocks of " + edge + " x " + edge;
}

void convert(Multiplier& to, const View& view, PetscInt columns) {
  const auto items = static_cast<std::size_t>(view.starts[view.rows]) * view.block_items();
  try {
    const double start = cpu_s();
    const std::span values(view.values, items);
    if (to.matrix) {
      to.matrix->set_values(values);
    } else if (!to.blocks) {
      std::ptrdiff_t full_rows = 0;
      for (PetscInt row = 0; row < view.rows; ++row) {
        full_rows += view.starts[row + 1] > view.starts[row] ? 1 : 0;
      }
      // PETSc goes over rows with items only where there are few, as in the part of other ranks.
      if (std::ssize(values) < options().least_items || 2 * full_rows < view.rows ||
          view.block > largest_block) {
        return to.turns.give_up();
      }
      to.full_rows = full_rows * view.block;
      to.record = new_record("MatMult");
      to.record->library_s = to.turns.library_s();
      to.record->storage = make(to, view, columns, values);
      to.record->rows = to.rows();
      to.record->items = std::ssize(values);
    }
    to.record->inspection_s += cpu_s() - start;
    to.current = true;
  } catch (const std::exception&) {  // no memory, or columns that do not ascend
    to.drop();
    to.turns.give_up();
  }
}

PetscErrorCode make_current(Mat a, Multiplier& to) {
  PetscInt columns = 0;
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(a, nullptr, &columns));
  PetscCall(with_view(
      a, [&](const View& view) { convert(to, view, columns); }, [&] { to.turns.give_up(); }));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// What is known of a matrix whose product may be ours, or null.
PetscErrorCode find_multiplier(Mat a, Multiplier** found) {
  PetscFunctionBegin;
  PetscCall(attached(reinterpret_cast<PetscObject>(a), key, found));
  if (*found == nullptr || (*found)->in_place || only_petsc_writes(a)) {
    PetscFunctionReturn(PetscErrorCode(0));
  }
  (*found)->drop();
  (*found)->current = false;
  *found = nullptr;
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Whether this multiply is ours; its copy is up to date then.
PetscErrorCode is_ours(Mat a, Multiplier** found) {
  PetscFunctionBegin;
  PetscCall(find_multiplier(a, found));
  if (*found == nullptr) PetscFunctionReturn(PetscErrorCode(0));
  auto& to = **found;
  PetscCall(follow_state(a, to));
  if (!to.current && to.turns.ours_wins() && !to.turns.library_is_due()) {
    PetscCall(make_current(a, to));
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

void lose(Multiplier& to) {
  to.record->storage.clear();
  to.drop();
  to.current = false;
}

/// y = A x or A^T x.
PetscErrorCode product(Mat a, const Multiplier& to, bool transposed, const PetscScalar* x,
                       PetscScalar* y) {
  PetscBool shown = PETSC_TRUE;
  PetscFunctionBegin;
  if (to.blocks) {
    PetscCall(with_view(
        a, [&](const View& view) { to.blocks->multiply(view.values, x, y); },
        [&] { shown = PETSC_FALSE; }));
    PetscCheck(shown, PETSC_COMM_SELF, PETSC_ERR_PLIB, "SeqBAIJ does not show its blocks any more");
    PetscFunctionReturn(PetscErrorCode(0));
  }
  const auto rows = static_cast<std::size_t>(to.matrix->rows());
  const auto columns = static_cast<std::size_t>(to.matrix->columns());
  if (transposed) {
    to.matrix->multiply_transposed({x, rows}, {y, columns});
  } else {
    to.matrix->multiply({x, columns}, {y, rows});
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode run(Mat a, const Multiplier& to, bool transposed, Vec x, Vec y) {
  const PetscScalar* from = nullptr;
  PetscScalar* result = nullptr;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArrayWrite(y, &result));
  PetscCall(product(a, to, transposed, from, result));
  PetscCall(VecRestoreArrayWrite(y, &result));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscCall(PetscLogFlops(static_cast<PetscLogDouble>(
      2 * to.num_items() - (transposed ? 0 : to.full_rows))));  // as PETSc counts
  PetscFunctionReturn(PetscErrorCode(0));
}

/// z = y + A x or y + A^T x.
PetscErrorCode run_add(Mat a, Multiplier& to, bool transposed, Vec x, Vec y, Vec z) {
  const PetscScalar* from = nullptr;
  const PetscScalar* added = nullptr;
  PetscScalar* result = nullptr;
  PetscFunctionBegin;
  to.product.resize(static_cast<std::size_t>(transposed ? to.matrix->columns() : to.rows()));
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(product(a, to, transposed, from, to.product.data()));
  PetscCall(VecRestoreArrayRead(x, &from));
  if (y != z) PetscCall(VecGetArrayRead(y, &added));
  PetscCall(VecGetArray(z, &result));
  const auto* summand = y == z ? result : added;
  for (std::size_t i = 0; i < to.product.size(); ++i) result[i] = summand[i] + to.product[i];
  PetscCall(VecRestoreArray(z, &result));
  if (y != z) PetscCall(VecRestoreArrayRead(y, &added));
  PetscCall(PetscLogFlops(static_cast<PetscLogDouble>(2 * to.num_items())));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode multiply_or(MultiplyCall petsc, Mat a, Vec x, Vec y) {
  Multiplier* to = nullptr;
  PetscFunctionBegin;
  PetscCall(is_ours(a, &to));
  if (to != nullptr && !to->matrix) PetscCall(add_read(a, to->reads));
  if (to == nullptr || (to->turns.decided() && !to->current)) {
    PetscCall(petsc(a, x, y));
    PetscFunctionReturn(PetscErrorCode(0));
  }
  const double start = cpu_s();
  if (!to->current) {
    PetscCall(petsc(a, x, y));
    to->turns.add_library(cpu_s() - start);
    PetscFunctionReturn(PetscErrorCode(0));
  }
  PetscCall(run(a, *to, false, x, y));
  ++to->record->ours;
  if (!to->turns.decided()) {
    to->turns.add_ours(*to->record, cpu_s() - start, options().always);
    if (!to->turns.ours_wins()) lose(*to);
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode multiply_add_or(MultiplyAddCall petsc, Mat a, Vec x, Vec y, Vec z) {
  Multiplier* to = nullptr;
  PetscFunctionBegin;
  PetscCall(is_ours(a, &to));
  if (to == nullptr || !to->current) {
    if (to != nullptr && !to->turns.decided()) to->turns.add_library();
    PetscCall(petsc(a, x, y, z));
    PetscFunctionReturn(PetscErrorCode(0));
  }
  PetscCall(run_add(a, *to, false, x, y, z));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode multiply(Mat a, Vec x, Vec y) { return multiply_or(petsc_multiply, a, x, y); }
PetscErrorCode multiply_add(Mat a, Vec x, Vec y, Vec z) {
  return multiply_add_or(petsc_multiply_add, a, x, y, z);
}

/// PETSc's own multiply of this matrix. A duplicate keeps the one of any size.
template <class Call>
Call of_block(const std::array<Call, largest_block + 1>& calls, PetscInt block) {
  const auto call = block > largest_block ? nullptr : calls[static_cast<std::size_t>(block)];
  return call == nullptr ? calls[0] : call;
}

PetscErrorCode multiply_blocks(Mat a, Vec x, Vec y) {
  PetscInt block = 0;
  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(a, &block));
  PetscCall(multiply_or(of_block(petsc_block_multiply, block), a, x, y));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode multiply_blocks_add(Mat a, Vec x, Vec y, Vec z) {
  PetscInt block = 0;
  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(a, &block));
  PetscCall(multiply_add_or(of_block(petsc_block_multiply_add, block), a, x, y, z));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode replace_block_multiply(Mat a, PetscInt block) {
  const auto at = static_cast<std::size_t>(block);
  PetscFunctionBegin;
  PetscCall(replace(a, MATOP_MULT, multiply_blocks, petsc_block_multiply[at]));
  PetscCall(replace(a, MATOP_MULT_ADD, multiply_blocks_add, petsc_block_multiply_add[at]));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// The size of blocks is known by now, and with it PETSc's multiply.
PetscErrorCode assembly_end(Mat a, MatAssemblyType type) {
  PetscInt block = 0;
  PetscFunctionBegin;
  PetscCall(petsc_assembly_end(a, type));
  PetscCall(MatGetBlockSize(a, &block));
  if (block >= 2 && block <= largest_block) PetscCall(replace_block_multiply(a, block));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode create_blocks(Mat a) {
  PetscFunctionBegin;
  PetscCall(petsc_create_blocks(a));
  auto multiplier = std::make_unique<Multiplier>();
  multiplier->in_place = true;
  PetscCall(attach(reinterpret_cast<PetscObject>(a), key, std::move(multiplier)));
  PetscCall(replace(a, MATOP_ASSEMBLY_END, assembly_end, petsc_assembly_end));
  PetscCall(replace_block_multiply(a, 0));
  PetscCall(take_over_preallocation(a));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Whether this transposed multiply is ours.
PetscErrorCode is_ours_transposed(Mat a, Multiplier** found, bool* ours) {
  PetscFunctionBegin;
  *ours = false;
  PetscCall(find_multiplier(a, found));
  if (*found == nullptr) PetscFunctionReturn(PetscErrorCode(0));
  auto& to = **found;
  PetscCall(follow_state(a, to));
  *ours = to.current && to.transposed_turns.ours_wins() && !to.transposed_turns.library_is_due();
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode multiply_transposed(Mat a, Vec x, Vec y) {
  Multiplier* to = nullptr;
  bool ours = false;
  PetscFunctionBegin;
  PetscCall(is_ours_transposed(a, &to, &ours));
  const double start = cpu_s();
  if (!ours) {
    PetscCall(petsc_transposed(a, x, y));
    if (to == nullptr) PetscFunctionReturn(PetscErrorCode(0));
    to->transposed_turns.add_library(cpu_s() - start);
    PetscFunctionReturn(PetscErrorCode(0));
  }
  PetscCall(run(a, *to, true, x, y));
  const double taken = cpu_s() - start;
  auto& record = to->transposed_record;
  if (!record) {
    record = new_record("MatMultTranspose");
    record->rows = to->matrix->rows();
    record->items = to->matrix->num_items();
    record->storage = to->matrix->storage();
    record->library_s = to->transposed_turns.library_s();
  }
  ++record->ours;
  if (!to->transposed_turns.decided()) {
    to->transposed_turns.add_ours(*record, taken, options().always);
    if (!to->transposed_turns.ours_wins()) record->storage.clear();
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Follows the verdict of MatMultTranspose. PETSc adds each product to y itself: other bits.
PetscErrorCode multiply_transposed_add(Mat a, Vec x, Vec y, Vec z) {
  Multiplier* to = nullptr;
  bool ours = false;
  PetscFunctionBegin;
  PetscCall(is_ours_transposed(a, &to, &ours));
  if (!ours || !to->transposed_turns.decided() || options().bit_for_bit) {
    PetscCall(petsc_transposed_add(a, x, y, z));
  } else {
    PetscCall(run_add(a, *to, true, x, y, z));
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace

PetscErrorCode take_over_block_multiply() {
  PetscErrorCode (*found)(Mat) = nullptr;
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(PetscFunctionListFind(MatList, MATSEQBAIJ, &found));
  if (found == nullptr || found == create_blocks) PetscFunctionReturn(PetscErrorCode(0));
  petsc_create_blocks = found;
  PetscCall(MatRegister(MATSEQBAIJ, create_blocks));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode take_over_multiply(Mat a) {
  PetscFunctionBegin;
  PetscCall(attach(reinterpret_cast<PetscObject>(a), key, std::make_unique<Multiplier>()));
  PetscCall(replace(a, MATOP_MULT, multiply, petsc_multiply));
  PetscCall(replace(a, MATOP_MULT_ADD, multiply_add, petsc_multiply_add));
  PetscCall(replace(a, MATOP_MULT_TRANSPOSE, multiply_transposed, petsc_transposed));
  PetscCall(replace(a, MATOP_MULT_TRANSPOSE_ADD, multiply_transposed_add, petsc_transposed_add));
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace tailrace::petsc
