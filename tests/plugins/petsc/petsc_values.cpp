// SPDX-License-Identifier: BSD-3-Clause
// A PETSc program that changes the values of matrices in every way that PETSc has, or allows: by
// arrays of its own, by pointers that it keeps, by PETSc's operations on the matrix. Products and
// sweeps of SOR have to see each change. Products are compared with sums over MatGetRow, sweeps
// with those of a copy. Pointers change items off the diagonal alone, as PETSc's own sweeps keep
// the inverse of the diagonal.
#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include <petscksp.h>

namespace {

constexpr PetscInt num_rows = 240;
constexpr PetscInt block = 3;  // of BAIJ

double item(PetscInt row, PetscInt column) {
  if (row == column) return 8.0 + std::sin(static_cast<double>(row));
  return -1.0 - 0.3 * std::cos(static_cast<double>(row + 2 * column));
}

std::vector<PetscInt> columns_of(PetscInt row) {
  std::vector<PetscInt> found;
  for (const auto column : {row - 20, row - 1, row, row + 1, row + 20}) {
    if (column >= 0 && column < num_rows) found.push_back(column);
  }
  return found;
}

/// CSR of some rows: all columns, or those from `first` to before `end`, or those outside.
struct Rows {
  std::vector<PetscInt> starts{0}, columns;
  std::vector<PetscScalar> values;
  std::vector<bool> changes;  ///< which values `change` changes

  enum class Part { all, inside, outside };
  Rows() = default;
  Rows(PetscInt first, PetscInt end, Part part) {
    for (auto row = first; row < end; ++row) {
      for (const auto column : columns_of(row)) {
        const bool is_inside = column >= first && column < end;
        if (part != Part::all && is_inside != (part == Part::inside)) continue;
        columns.push_back(part == Part::inside ? column - first : column);
        values.push_back(item(row, column));
        changes.push_back(row != column);
      }
      starts.push_back(static_cast<PetscInt>(columns.size()));
    }
  }
};

/// One matrix, and what the program keeps of it.
struct Case {
  Mat a = nullptr;
  Mat other = nullptr, third = nullptr;  ///< what `a` is made from
  Rows rows, outer;
  std::vector<PetscScalar*> kept;  ///< pointers to values
  double factor = 1;

  void change_kept() {
    factor += 0.5;
    const std::array parts{&rows, &outer};
    for (std::size_t k = 0; k < kept.size(); ++k) {
      for (std::size_t i = 0; i < parts[k]->values.size(); ++i) {
        if (parts[k]->changes[i]) kept[k][i] *= factor;
      }
    }
  }
};

PetscErrorCode assemble(Mat a) {
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode fill(Mat a, InsertMode mode) {
  PetscInt low = 0, high = 0;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(a, &low, &high));
  for (auto row = low; row < high; ++row) {
    for (const auto column : columns_of(row)) {
      PetscCall(MatSetValue(a, row, column, item(row, column), mode));
    }
  }
  PetscCall(assemble(a));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode make_aij(Case& c) {
  PetscInt low = 0, high = 0;
  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, num_rows, num_rows, 5,
                         nullptr, 5, nullptr, &c.a));
  PetscCall(fill(c.a, INSERT_VALUES));
  PetscCall(MatGetOwnershipRange(c.a, &low, &high));
  c.rows = Rows(low, high, Rows::Part::inside);
  c.outer = Rows(low, high, Rows::Part::outside);
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode make_baij(Case& c) {
  PetscFunctionBegin;
  PetscCall(MatCreateBAIJ(PETSC_COMM_WORLD, block, PETSC_DECIDE, PETSC_DECIDE, num_rows, num_rows,
                          9, nullptr, 9, nullptr, &c.a));
  PetscCall(fill(c.a, INSERT_VALUES));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode find_own_rows(PetscInt* first, PetscInt* count) {
  PetscInt all = num_rows;
  PetscInt own = PETSC_DECIDE;
  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &own, &all));
  PetscCallMPI(MPI_Exscan(&own, first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscMPIInt rank = 0;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) *first = 0;
  *count = own;
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Rows of the matrix of this rank by itself.
PetscErrorCode make_seq_with_arrays(Case& c) {
  PetscFunctionBegin;
  c.rows = Rows(0, num_rows, Rows::Part::all);
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, num_rows, num_rows, c.rows.starts.data(),
                                      c.rows.columns.data(), c.rows.values.data(), &c.a));
  c.kept = {c.rows.values.data()};
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode make_seq_with_arrays_in_fortran(Case& c) {
  using Create =
      void (*)(MPI_Fint*, PetscInt*, PetscInt*, PetscInt*, PetscInt*, PetscScalar*, Mat*, int*);
  const auto create = reinterpret_cast<Create>(dlsym(RTLD_DEFAULT, "matcreateseqaijwitharrays_"));
  PetscFunctionBegin;
  if (create == nullptr) PetscFunctionReturn(PetscErrorCode(0));
  c.rows = Rows(0, num_rows, Rows::Part::all);
  MPI_Fint comm = MPI_Comm_c2f(PETSC_COMM_SELF);
  PetscInt n = num_rows;
  int error = 0;
  create(&comm, &n, &n, c.rows.starts.data(), c.rows.columns.data(), c.rows.values.data(), &c.a,
         &error);
  c.kept = {c.rows.values.data()};
  PetscFunctionReturn(PetscErrorCode(error));
}

PetscErrorCode make_split(Case& c) {
  PetscInt first = 0, count = 0;
  PetscFunctionBegin;
  PetscCall(find_own_rows(&first, &count));
  c.rows = Rows(first, first + count, Rows::Part::inside);
  c.outer = Rows(first, first + count, Rows::Part::outside);
  PetscCall(MatCreateMPIAIJWithSplitArrays(PETSC_COMM_WORLD, count, count, num_rows, num_rows,
                                           c.rows.starts.data(), c.rows.columns.data(),
                                           c.rows.values.data(), c.outer.starts.data(),
                                           c.outer.columns.data(), c.outer.values.data(), &c.a));
  c.kept = {c.rows.values.data(), c.outer.values.data()};
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode make_mpi_with_arrays(Case& c) {
  PetscInt first = 0, count = 0;
  PetscFunctionBegin;
  PetscCall(find_own_rows(&first, &count));
  c.rows = Rows(first, first + count, Rows::Part::all);
  PetscCall(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, count, count, num_rows, num_rows,
                                      c.rows.starts.data(), c.rows.columns.data(),
                                      c.rows.values.data(), &c.a));
  c.kept = {c.rows.values.data()};
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode update_mpi_with_arrays(Case& c) {
  PetscInt first = 0, count = 0;
  PetscFunctionBegin;
  PetscCall(find_own_rows(&first, &count));
  c.change_kept();
  PetscCall(MatUpdateMPIAIJWithArrays(c.a, count, count, num_rows, num_rows, c.rows.starts.data(),
                                      c.rows.columns.data(), c.rows.values.data()));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode update_mpi_with_array(Case& c) {
  PetscFunctionBegin;
  c.change_kept();
  PetscCall(MatUpdateMPIAIJWithArray(c.a, c.rows.values.data()));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// The parts of this rank's rows.
PetscErrorCode find_parts(Mat a, std::vector<Mat>* parts) {
  PetscBool alone = PETSC_FALSE;
  Mat own = nullptr, outer = nullptr;
  const PetscInt* columns = nullptr;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), MATSEQAIJ, &alone));
  if (alone == PETSC_TRUE) {
    *parts = {a};
  } else {
    PetscCall(MatMPIAIJGetSeqAIJ(a, &own, &outer, &columns));
    *parts = {own, outer};
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

enum class Take { get, get_write, get_csr, get_in_fortran };

PetscErrorCode take_pointer(Mat part, Take take, PetscScalar** values) {
  const PetscInt* starts = nullptr;
  const PetscInt* columns = nullptr;
  PetscMemType type = PETSC_MEMTYPE_HOST;
  PetscFunctionBegin;
  if (take == Take::get) PetscCall(MatSeqAIJGetArray(part, values));
  if (take == Take::get_write) PetscCall(MatSeqAIJGetArrayWrite(part, values));
  if (take == Take::get_csr) {
    PetscCall(MatSeqAIJGetCSRAndMemType(part, &starts, &columns, values, &type));
  }
  if (take == Take::get_in_fortran) {  // an index into an array of one
    using Get = void (*)(Mat*, PetscScalar*, std::size_t*, PetscErrorCode*);
    const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "matseqaijgetarray_"));
    static std::array<PetscScalar, 1> one;
    std::size_t index = 0;
    PetscErrorCode error = PetscErrorCode(0);
    if (get == nullptr) {
      PetscCall(MatSeqAIJGetArray(part, values));
    } else {
      get(&part, one.data(), &index, &error);
      PetscCall(error);
      *values = reinterpret_cast<PetscScalar*>(reinterpret_cast<std::uintptr_t>(one.data()) +
                                               index * sizeof(PetscScalar));
    }
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

template <Take take, bool restores>
PetscErrorCode make_and_keep(Case& c) {
  std::vector<Mat> parts;
  PetscFunctionBegin;
  PetscCall(make_aij(c));
  PetscCall(find_parts(c.a, &parts));
  for (const auto& part : parts) {
    PetscScalar* values = nullptr;
    PetscCall(take_pointer(part, take, &values));
    c.kept.push_back(values);
    if (restores) PetscCall(MatSeqAIJRestoreArray(part, &values));
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode change_kept(Case& c) {
  PetscFunctionBegin;
  c.change_kept();
  PetscFunctionReturn(PetscErrorCode(0));
}

/// The pointer is taken when products have been by the plug-in for long.
template <Take take, bool restores>
PetscErrorCode keep_and_change(Case& c) {
  std::vector<Mat> parts;
  PetscFunctionBegin;
  PetscCall(find_parts(c.a, &parts));
  if (c.kept.empty()) {
    for (const auto& part : parts) {
      PetscScalar* values = nullptr;
      PetscCall(take_pointer(part, take, &values));
      c.kept.push_back(values);
      if (restores) PetscCall(MatSeqAIJRestoreArray(part, &values));
    }
  }
  c.change_kept();
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode make_and_keep_baij(Case& c) {
  PetscScalar* values = nullptr;
  MatInfo info;
  PetscFunctionBegin;
  PetscCall(MatCreateSeqBAIJ(PETSC_COMM_SELF, block, num_rows, num_rows, 9, nullptr, &c.a));
  PetscCall(fill(c.a, INSERT_VALUES));
  PetscCall(MatGetInfo(c.a, MAT_LOCAL, &info));
  c.rows.values.resize(static_cast<std::size_t>(info.nz_used));
  c.rows.changes.resize(c.rows.values.size(), true);
  PetscCall(MatSeqBAIJGetArray(c.a, &values));
  c.kept = {values};
  PetscCall(MatSeqBAIJRestoreArray(c.a, &values));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode make_duplicate(Case& c) {  // of arrays of the program: its own are PETSc's
  PetscFunctionBegin;
  PetscCall(make_seq_with_arrays(c));
  std::swap(c.a, c.other);
  PetscCall(MatDuplicate(c.other, MAT_COPY_VALUES, &c.a));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode scale(Case& c) { return MatScale(c.a, 1.5); }
PetscErrorCode shift(Case& c) { return MatShift(c.a, 0.25); }
PetscErrorCode insert(Case& c) {
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(c.a));
  PetscCall(fill(c.a, INSERT_VALUES));
  PetscCall(MatScale(c.a, c.factor += 0.5));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode insert_only(Case& c) { return fill(c.a, INSERT_VALUES); }
PetscErrorCode scaled_then_insert(Case& c) {
  PetscFunctionBegin;
  PetscCall(make_aij(c));
  PetscCall(MatScale(c.a, 3));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode add(Case& c) { return fill(c.a, ADD_VALUES); }
PetscErrorCode randomize(Case& c) {
  PetscFunctionBegin;
  PetscCall(MatSetRandom(c.a, nullptr));
  PetscCall(MatShift(c.a, 8));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode zero_rows(Case& c) {
  PetscInt low = 0, high = 0;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(c.a, &low, &high));
  low += static_cast<PetscInt>(c.factor++);
  PetscCall(MatZeroRows(c.a, 1, &low, 3.0, nullptr, nullptr));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode zero_rows_and_columns(Case& c) {
  PetscInt low = 0, high = 0;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(c.a, &low, &high));
  low += static_cast<PetscInt>(c.factor++);
  PetscCall(MatZeroRowsColumns(c.a, 1, &low, 3.0, nullptr, nullptr));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode scale_sides(Case& c) {
  Vec left = nullptr, right = nullptr;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(c.a, &right, &left));
  PetscCall(VecSet(left, 1.25));
  PetscCall(VecSet(right, 0.75));
  PetscCall(MatDiagonalScale(c.a, left, right));
  PetscCall(VecDestroy(&left));
  PetscCall(VecDestroy(&right));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode set_diagonal(Case& c) {
  Vec diagonal = nullptr;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(c.a, &diagonal, nullptr));
  PetscCall(VecSet(diagonal, c.factor += 10));
  PetscCall(MatDiagonalSet(c.a, diagonal, INSERT_VALUES));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode make_two(Case& c) {
  PetscFunctionBegin;
  PetscCall(make_aij(c));
  PetscCall(MatDuplicate(c.a, MAT_COPY_VALUES, &c.other));
  PetscCall(MatScale(c.other, 0.3));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode add_other(Case& c) { return MatAXPY(c.a, 2, c.other, SAME_NONZERO_PATTERN); }
PetscErrorCode add_to_other(Case& c) { return MatAYPX(c.a, 2, c.other, SAME_NONZERO_PATTERN); }
PetscErrorCode copy_other(Case& c) {
  PetscFunctionBegin;
  PetscCall(MatScale(c.other, 1.5));
  PetscCall(MatCopy(c.other, c.a, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode make_stored(Case& c) {
  PetscFunctionBegin;
  PetscCall(make_aij(c));
  PetscCall(MatSetOption(c.a, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatStoreValues(c.a));
  PetscCall(MatScale(c.a, 2));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode retrieve(Case& c) { return MatRetrieveValues(c.a); }
PetscErrorCode make_coo(Case& c) {
  PetscInt first = 0, count = 0;
  PetscFunctionBegin;
  PetscCall(find_own_rows(&first, &count));
  c.rows = Rows(first, first + count, Rows::Part::all);
  std::vector<PetscInt> rows;
  for (PetscInt row = 0; row < count; ++row) {
    const auto at = static_cast<std::size_t>(row);
    for (auto k = c.rows.starts[at]; k < c.rows.starts[at + 1]; ++k) rows.push_back(first + row);
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, &c.a));
  PetscCall(MatSetSizes(c.a, count, count, num_rows, num_rows));
  PetscCall(MatSetType(c.a, MATAIJ));
  PetscCall(MatSetPreallocationCOO(c.a, static_cast<PetscCount>(rows.size()), rows.data(),
                                   c.rows.columns.data()));
  PetscCall(MatSetValuesCOO(c.a, c.rows.values.data(), INSERT_VALUES));
  c.kept = {c.rows.values.data()};
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode set_coo(Case& c) {
  PetscFunctionBegin;
  c.change_kept();
  PetscCall(MatSetValuesCOO(c.a, c.rows.values.data(), INSERT_VALUES));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode make_product(Case& c) {
  PetscFunctionBegin;
  PetscCall(make_two(c));
  PetscCall(MatDuplicate(c.a, MAT_COPY_VALUES, &c.third));
  PetscCall(MatDestroy(&c.a));
  PetscCall(MatMatMult(c.other, c.third, MAT_INITIAL_MATRIX, 2, &c.a));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode multiply_again(Case& c) {
  PetscFunctionBegin;
  PetscCall(MatScale(c.other, 1.5));
  PetscCall(MatMatMult(c.other, c.third, MAT_REUSE_MATRIX, 2, &c.a));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode make_ptap(Case& c) {
  PetscFunctionBegin;
  PetscCall(make_two(c));
  PetscCall(MatDuplicate(c.a, MAT_COPY_VALUES, &c.third));
  PetscCall(MatDestroy(&c.a));
  PetscCall(MatPtAP(c.other, c.third, MAT_INITIAL_MATRIX, 2, &c.a));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode ptap_again(Case& c) {
  PetscFunctionBegin;
  PetscCall(MatScale(c.other, 1.5));
  PetscCall(MatPtAP(c.other, c.third, MAT_REUSE_MATRIX, 2, &c.a));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode make_transpose(Case& c) {
  PetscFunctionBegin;
  PetscCall(make_aij(c));
  std::swap(c.a, c.other);
  PetscCall(MatTranspose(c.other, MAT_INITIAL_MATRIX, &c.a));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode transpose_again(Case& c) {
  PetscFunctionBegin;
  PetscCall(MatScale(c.other, 1.5));
  PetscCall(MatTranspose(c.other, MAT_REUSE_MATRIX, &c.a));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode sub_matrix(Case& c, MatReuse reuse) {
  PetscInt low = 0, high = 0;
  IS own = nullptr;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(c.other, &low, &high));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, high - low, low, 1, &own));
  PetscCall(MatCreateSubMatrix(c.other, own, own, reuse, &c.a));
  PetscCall(ISDestroy(&own));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode make_sub_matrix(Case& c) {
  PetscFunctionBegin;
  PetscCall(make_aij(c));
  std::swap(c.a, c.other);
  PetscCall(sub_matrix(c, MAT_INITIAL_MATRIX));
  PetscFunctionReturn(PetscErrorCode(0));
}
PetscErrorCode sub_matrix_again(Case& c) {
  PetscFunctionBegin;
  PetscCall(MatScale(c.other, 1.5));
  PetscCall(sub_matrix(c, MAT_REUSE_MATRIX));
  PetscFunctionReturn(PetscErrorCode(0));
}

struct Way {
  const char* name;
  PetscErrorCode (*make)(Case&);
  PetscErrorCode (*change)(Case&);
  bool sweeps = true;  ///< false: PETSc's own sweeps keep an old diagonal
};
constexpr Way ways[] = {
    {"MatCreateSeqAIJWithArrays", make_seq_with_arrays, change_kept},
    {"MatCreateSeqAIJWithArrays in Fortran", make_seq_with_arrays_in_fortran, change_kept},
    {"MatCreateMPIAIJWithSplitArrays", make_split, change_kept},
    {"MatUpdateMPIAIJWithArrays", make_mpi_with_arrays, update_mpi_with_arrays},
    {"MatUpdateMPIAIJWithArray", make_mpi_with_arrays, update_mpi_with_array},
    {"MatSeqAIJGetArray, kept", make_and_keep<Take::get, true>, change_kept},
    {"MatSeqAIJGetArray, not restored", make_and_keep<Take::get, false>, change_kept},
    {"MatSeqAIJGetArray in Fortran", make_and_keep<Take::get_in_fortran, true>, change_kept},
    {"MatSeqAIJGetArrayWrite, kept", make_and_keep<Take::get_write, true>, change_kept},
    {"MatSeqAIJGetCSRAndMemType", make_and_keep<Take::get_csr, false>, change_kept},
    {"MatSeqAIJGetArray, late", make_aij, keep_and_change<Take::get, true>},
    {"MatSeqAIJGetArray, late, not restored", make_aij, keep_and_change<Take::get, false>},
    {"MatSeqAIJGetArrayWrite, late", make_aij, keep_and_change<Take::get_write, true>},
    {"MatSeqAIJGetCSRAndMemType, late", make_aij, keep_and_change<Take::get_csr, false>},
    {"MatSeqBAIJGetArray, kept", make_and_keep_baij, change_kept},
    {"MatRetrieveValues", make_stored, retrieve, false},
    {"MatScale", make_aij, scale},
    {"MatScale of a duplicate", make_duplicate, scale},
    {"MatScale of BAIJ", make_baij, scale},
    {"MatShift", make_aij, shift},
    {"MatShift of BAIJ", make_baij, shift},
    {"MatZeroEntries, MatSetValues", make_aij, insert},
    {"MatSetValues", scaled_then_insert, insert_only},
    {"MatSetValues, adding", make_aij, add},
    {"MatSetValues of BAIJ, adding", make_baij, add},
    {"MatSetRandom", make_aij, randomize},
    {"MatZeroRows", make_aij, zero_rows},
    {"MatZeroRowsColumns", make_aij, zero_rows_and_columns},
    {"MatDiagonalScale", make_aij, scale_sides},
    {"MatDiagonalScale of BAIJ", make_baij, scale_sides},
    {"MatDiagonalSet", make_aij, set_diagonal},
    {"MatAXPY", make_two, add_other},
    {"MatAYPX", make_two, add_to_other},
    {"MatCopy", make_two, copy_other, false},
    {"MatSetValuesCOO", make_coo, set_coo},
    {"MatMatMult again", make_product, multiply_again},
    {"MatPtAP again", make_ptap, ptap_again},
    {"MatTranspose again", make_transpose, transpose_again, false},
    {"MatCreateSubMatrix again", make_sub_matrix, sub_matrix_again},
};

double x_of(PetscInt row) { return std::cos(0.1 * static_cast<double>(row)); }

PetscErrorCode set_x(Vec x) {
  PetscInt low = 0, high = 0;
  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &low, &high));
  for (auto row = low; row < high; ++row) PetscCall(VecSetValue(x, row, x_of(row), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscFunctionReturn(PetscErrorCode(0));
}

/// y = A x and A^T x by MatGetRow.
PetscErrorCode multiply_rows(Mat a, Vec y, Vec transposed) {
  PetscInt low = 0, high = 0;
  PetscFunctionBegin;
  PetscCall(VecSet(transposed, 0));
  PetscCall(MatGetOwnershipRange(a, &low, &high));
  for (auto row = low; row < high; ++row) {
    PetscInt count = 0;
    const PetscInt* columns = nullptr;
    const PetscScalar* values = nullptr;
    PetscCall(MatGetRow(a, row, &count, &columns, &values));
    double sum = 0;
    for (PetscInt k = 0; k < count; ++k) {
      sum += values[k] * x_of(columns[k]);
      PetscCall(VecSetValue(transposed, columns[k], values[k] * x_of(row), ADD_VALUES));
    }
    PetscCall(MatRestoreRow(a, row, &count, &columns, &values));
    PetscCall(VecSetValue(y, row, sum, INSERT_VALUES));
  }
  for (const auto& vector : {y, transposed}) {
    PetscCall(VecAssemblyBegin(vector));
    PetscCall(VecAssemblyEnd(vector));
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Counts a difference of y and z beyond round-off. y is lost.
PetscErrorCode compare(Vec y, Vec z, const char* way, const char* what, int* wrong) {
  PetscReal difference = 0, size = 0;
  PetscFunctionBegin;
  PetscCall(VecAXPY(y, -1, z));
  PetscCall(VecNorm(y, NORM_2, &difference));
  PetscCall(VecNorm(z, NORM_2, &size));
  if (size > 0 && difference <= 1e-12 * size) PetscFunctionReturn(PetscErrorCode(0));
  std::fprintf(stderr, "%s: %s differs by %g from %g\n", way, what, difference, size);
  ++*wrong;
  PetscFunctionReturn(PetscErrorCode(0));
}

/// PETSc's own sweep: the first of a copy.
PetscErrorCode sweep_copy(Mat a, Vec b, Vec y) {
  Mat copy = nullptr;
  PetscFunctionBegin;
  PetscCall(MatDuplicate(a, MAT_COPY_VALUES, &copy));
  PetscCall(MatSOR(copy, b, 1.3,
                   static_cast<MatSORType>(SOR_LOCAL_SYMMETRIC_SWEEP | SOR_ZERO_INITIAL_GUESS), 0,
                   1, 1, y));
  PetscCall(MatDestroy(&copy));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode check(Mat a, const Way& way, int times, int* wrong) {
  Vec x = nullptr, y = nullptr, z = nullptr, wanted = nullptr, transposed = nullptr;
  PetscBool seq_blocks = PETSC_FALSE, blocks = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), MATSEQBAIJ, &seq_blocks));
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), MATMPIBAIJ, &blocks));
  PetscCall(MatCreateVecs(a, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(y, &wanted));
  PetscCall(VecDuplicate(x, &transposed));
  PetscCall(set_x(x));
  PetscCall(multiply_rows(a, wanted, transposed));
  for (int k = 0; k < times; ++k) {
    PetscCall(MatMult(a, x, y));
    PetscCall(compare(y, wanted, way.name, "MatMult", wrong));
    PetscCall(VecSet(y, 0));
    PetscCall(MatMultAdd(a, x, y, y));
    PetscCall(compare(y, wanted, way.name, "MatMultAdd", wrong));
    PetscCall(MatMultTranspose(a, x, y));
    PetscCall(compare(y, transposed, way.name, "MatMultTranspose", wrong));
    if (!way.sweeps || blocks == PETSC_TRUE || seq_blocks == PETSC_TRUE) continue;
    PetscCall(MatSOR(a, x, 1.3,
                     static_cast<MatSORType>(SOR_LOCAL_SYMMETRIC_SWEEP | SOR_ZERO_INITIAL_GUESS), 0,
                     1, 1, y));
    PetscCall(sweep_copy(a, x, z));
    PetscCall(compare(y, z, way.name, "MatSOR", wrong));
  }
  for (Vec* vector : {&x, &y, &z, &wanted, &transposed}) PetscCall(VecDestroy(vector));
  PetscFunctionReturn(PetscErrorCode(0));
}

PetscErrorCode walk(int* wrong) {
  PetscFunctionBegin;
  for (const auto& way : ways) {
    Case c;
    PetscCall(way.make(c));
    if (c.a == nullptr) continue;  // PETSc without Fortran
    PetscCall(check(c.a, way, 9, wrong));
    for (int change = 0; change < 3; ++change) {
      PetscCall(way.change(c));
      PetscCall(check(c.a, way, change == 1 ? 9 : 2, wrong));
    }
    PetscCall(MatDestroy(&c.a));
    PetscCall(MatDestroy(&c.other));
    PetscCall(MatDestroy(&c.third));
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

}  // namespace

int main(int argc, char** argv) {
  int wrong = 0;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  if (walk(&wrong) != 0) MPI_Abort(PETSC_COMM_WORLD, 3);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscMPIInt rank = 0;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (wrong == 0 && rank == 0) {
    std::fprintf(stderr, "%d ways: all is right\n", static_cast<int>(std::size(ways)));
  }
  PetscCall(PetscFinalize());
  return wrong == 0 ? 0 : 1;
}
