// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

// Matrix products by the method that measures fastest for their shape. Library tailrace::dense,
// which needs BLAS and no MPI. Nothing here is collective.
namespace tailrace::dense {

/// C := alpha op(A) op(B) + beta C, as BLAS's dgemm: op(A) is m x k, op(B) k x n, C m x n, all
/// column-major with leading dimensions `lda`, `ldb`, `ldc`; `transa` and `transb` are 'N' (as it
/// is), 'T' or 'C' (transposed). With beta = 0, C is not read. The method (BLAS's own dgemm, or one
/// of ours for shapes with few rows, columns or sums) is learned from the first calls of a class of
/// shapes, so results of equal calls may differ by rounding; TAILRACE_BLAS=library always takes
/// BLAS's. On as many threads as OMP_NUM_THREADS and its like say. Local, blocking; several threads
/// may call it. Throws std::invalid_argument that names the argument.
void gemm(char transa, char transb, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
          double alpha, const double* a, std::ptrdiff_t lda, const double* b, std::ptrdiff_t ldb,
          double beta, double* c, std::ptrdiff_t ldc);
/// The same in single precision, as sgemm.
void gemm(char transa, char transb, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
          float alpha, const float* a, std::ptrdiff_t lda, const float* b, std::ptrdiff_t ldb,
          float beta, float* c, std::ptrdiff_t ldc);

}  // namespace tailrace::dense
