// SPDX-License-Identifier: BSD-3-Clause
// The functions that Epetra_CrsMatrix and what is derived from it, as Epetra_FECrsMatrix, call for
// their products once their storage is optimized.
#include "epetra.hpp"
#include "products.hpp"

using tailrace::trilinos::epetra_vector_product;
using tailrace::trilinos::epetra_vectors_product;
using tailrace::trilinos::Product;

extern "C" __attribute__((visibility("default"))) void epetra_dcrsmv_(
    const int* transposed, const int* rows, const int* result_items, double* values, int* columns,
    int* row_starts, double* x, double* y) {
  Product product;
  product.transposed = *transposed != 0;
  product.rows = *rows;
  product.result_items = product.transposed ? *result_items : *rows;
  product.values = values;
  product.columns = columns;
  product.row_starts = row_starts;
  product.x = x;
  product.y = y;
  tailrace::trilinos::multiply(product, [=] {
    epetra_vector_product()(transposed, rows, result_items, values, columns, row_starts, x, y);
  });
}

extern "C" __attribute__((visibility("default"))) void epetra_dcrsmm_(
    const int* transposed, const int* rows, const int* result_items, double* values, int* columns,
    int* row_starts, double* x, const int* ldx, double* y, const int* ldy, const int* vectors) {
  Product product;
  product.transposed = *transposed != 0;
  product.rows = *rows;
  product.result_items = product.transposed ? *result_items : *rows;
  product.values = values;
  product.columns = columns;
  product.row_starts = row_starts;
  product.vectors = *vectors;
  product.x = x;
  product.ldx = *ldx;
  product.y = y;
  product.ldy = *ldy;
  tailrace::trilinos::multiply(product, [=] {
    epetra_vectors_product()(transposed, rows, result_items, values, columns, row_starts, x, ldx, y,
                             ldy, vectors);
  });
}
