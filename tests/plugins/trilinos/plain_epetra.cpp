// SPDX-License-Identifier: BSD-3-Clause
// Epetra's products and solves under their Fortran names as plain loops, for tests of the plug-in
// where Trilinos is not installed. Counts the calls.
extern "C" {

int num_plain_products = 0;
int num_plain_solves = 0;

static void multiply(const int* transposed, const int* rows, const int* result_items,
                     const double* values, const int* columns, const int* row_starts,
                     const double* x, double* y) {
  if (*transposed == 0) {
    for (int row = 0; row < *rows; ++row) {
      double sum = 0;
      for (int k = row_starts[row]; k < row_starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
      y[row] = sum;
    }
    return;
  }
  for (int i = 0; i < *result_items; ++i) y[i] = 0;
  for (int row = 0; row < *rows; ++row) {
    for (int k = row_starts[row]; k < row_starts[row + 1]; ++k) y[columns[k]] += values[k] * x[row];
  }
}

void epetra_dcrsmv_(const int* transposed, const int* rows, const int* result_items,
                    const double* values, const int* columns, const int* row_starts,
                    const double* x, double* y) {
  ++num_plain_products;
  multiply(transposed, rows, result_items, values, columns, row_starts, x, y);
}

void epetra_dcrsmm_(const int* transposed, const int* rows, const int* result_items,
                    const double* values, const int* columns, const int* row_starts,
                    const double* x, const int* ldx, double* y, const int* ldy,
                    const int* vectors) {
  ++num_plain_products;
  for (int i = 0; i < *vectors; ++i) {
    multiply(transposed, rows, result_items, values, columns, row_starts, x + i * *ldx,
             y + i * *ldy);
  }
}

/// Of triangles with ones on the diagonal, which are not stored.
void epetra_dcrssv_(const int* upper, const int* transposed, const int*, const int*,
                    const int* rows, const int*, const double* values, const int* columns,
                    const int* row_starts, const double* b, double* x, const int*) {
  ++num_plain_solves;
  const int n = *rows;
  for (int i = 0; i < n; ++i) x[i] = b[i];
  for (int step = 0; step < n; ++step) {
    const int row = (*upper == *transposed) ? step : n - 1 - step;
    for (int k = row_starts[row]; k < row_starts[row + 1]; ++k) {
      if (*transposed != 0) {
        x[columns[k]] -= values[k] * x[row];
      } else {
        x[row] -= values[k] * x[columns[k]];
      }
    }
  }
}
}
