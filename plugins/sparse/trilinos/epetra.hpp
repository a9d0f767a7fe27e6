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

/// Its function x = T^-1 b, or (T^T)^-1 b, of a triangle T, behind Epetra_CrsMatrix::Solve.
using TriangleSolve = void (*)(const int* upper, const int* transposed, const int* unit,
                               const int* without_diagonal, const int* rows,
                               const int* columns_of_matrix, double* values, int* columns,
                               int* row_starts, double* b, double* x, const int* same);

/// The program's Epetra. Ends the program with a message if it has none.
VectorProduct epetra_vector_product();
VectorsProduct epetra_vectors_product();
TriangleSolve epetra_triangle_solve();

}  // namespace tailrace::trilinos
