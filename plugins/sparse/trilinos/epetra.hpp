// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tailrace::trilinos {

/// Epetra's Fortran function y = A x (or A^T x), behind Epetra_CrsMatrix::Multiply.
using VectorProduct = void (*)(const int* transposed, const int* rows, const int* result_items,
                               double* values, int* columns, int* row_starts, double* x, double* y);
/// The same for `vectors` vectors with leading dimensions.
using VectorsProduct = void (*)(const int* transposed, const int* rows, const int* result_items,
                                double* values, int* columns, int* row_starts, double* x,
                                const int* ldx, double* y, const int* ldy, const int* vectors);

/// The program's Epetra. Ends the program with a message if it has none.
VectorProduct epetra_vector_product();
VectorsProduct epetra_vectors_product();

}  // namespace tailrace::trilinos
