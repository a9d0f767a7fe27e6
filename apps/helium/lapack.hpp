// SPDX-License-Identifier: BSD-3-Clause
// The two drivers of LAPACK that are used here.
#pragma once

#include <cstddef>

extern "C" {
// NOLINTBEGIN(readability-identifier-naming)
/// Some eigenvalues and vectors of a real symmetric band matrix.
void dsbevx_(const char* jobz, const char* range, const char* uplo, const int* n, const int* kd,
             double* ab, const int* ldab, double* q, const int* ldq, const double* vl,
             const double* vu, const int* il, const int* iu, const double* abstol, int* m,
             double* w, double* z, const int* ldz, double* work, int* iwork, int* ifail, int* info,
             std::size_t, std::size_t, std::size_t);
/// All eigenvalues and vectors of a real symmetric tridiagonal matrix.
void dstev_(const char* jobz, const int* n, double* d, double* e, double* z, const int* ldz,
            double* work, int* info, std::size_t);
// NOLINTEND(readability-identifier-naming)
}
