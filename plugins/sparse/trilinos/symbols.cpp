// SPDX-License-Identifier: BSD-3-Clause
// The functions that Epetra_CrsMatrix and what is derived from it, as Epetra_FECrsMatrix, call for
// their products and solves once their storage is optimized.
#include "epetra.hpp"
#include "products.hpp"
#include "solves.hpp"

using tailrace::trilinos::epetra_triangle_solve;
using tailrace::trilinos::epetra_vector_product;
using tailrace::trilinos::epetra_vectors_product;
using tailrace::trilinos::Product;
using tailrace::trilinos::Solve;
using tailrace::trilinos::WatchedArrays;

extern "C" __attribute__((visibility("default"))) void epetra_dcrsmv_(
    const int* transposed, const int* rows, const int* result_items, double* values, int* columns,
    int* row_starts, double* x, double* y) {
  const bool turned = *transposed != 0;
  const Product product{turned,
                        WatchedArrays(*rows, values, columns, row_starts),
                        turned ? *result_items : *rows,
                        1,
                        x,
                        0,
                        y,
                        0};
  tailrace::trilinos::multiply(product, [=] {
    epetra_vector_product()(transposed, rows, result_items, values, columns, row_starts, x, y);
  });
}

extern "C" __attribute__((visibility("default"))) void epetra_dcrsmm_(
    const int* transposed, const int* rows, const int* result_items, double* values, int* columns,
    int* row_starts, double* x, const int* ldx, double* y, const int* ldy, const int* vectors) {
  const bool turned = *transposed != 0;
  const Product product{turned,
                        WatchedArrays(*rows, values, columns, row_starts),
                        turned ? *result_items : *rows,
                        *vectors,
                        x,
                        *ldx,
                        y,
                        *ldy};
  tailrace::trilinos::multiply(product, [=] {
    epetra_vectors_product()(transposed, rows, result_items, values, columns, row_starts, x, ldx, y,
                             ldy, vectors);
  });
}

extern "C" __attribute__((visibility("default"))) void epetra_dcrssv_(
    const int* upper, const int* transposed, const int* unit, const int* without_diagonal,
    const int* rows, const int* columns_of_matrix, double* values, int* columns, int* row_starts,
    double* b, double* x, const int* same) {
  const auto epetra = [=] {
    epetra_triangle_solve()(upper, transposed, unit, without_diagonal, rows, columns_of_matrix,
                            values, columns, row_starts, b, x, same);
  };
  if (*unit == 0 || *without_diagonal == 0) return epetra();
  const Solve solve{*upper != 0, *transposed != 0,
                    WatchedArrays(*rows, values, columns, row_starts), b, x};
  tailrace::trilinos::solve(solve, epetra);
}
