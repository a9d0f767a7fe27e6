// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The routines that stand for LAPACK's, in the form that all families share. Arguments are those of
// the Fortran routines, integers of the width of the caller's library.

#include <complex>

#include "library.hpp"

namespace tailrace::lapack {

void do_gesv(const Family& family, void* caller, const void* n, const void* nrhs, double* a,
             const void* lda, void* ipiv, double* b, const void* ldb, void* info);
/// Complex systems are taken of callers only that drop the factors.
void do_zgesv(const Family& family, void* caller, const void* n, const void* nrhs,
              std::complex<double>* a, const void* lda, void* ipiv, std::complex<double>* b,
              const void* ldb, void* info);
void do_posv(const Family& family, void* caller, const char* uplo, const void* n, const void* nrhs,
             double* a, const void* lda, double* b, const void* ldb, void* info,
             std::size_t length);
void do_getrs(const Family& family, void* caller, const char* trans, const void* n,
              const void* nrhs, const double* a, const void* lda, const void* ipiv, double* b,
              const void* ldb, void* info, std::size_t length);
void do_potrs(const Family& family, void* caller, const char* uplo, const void* n, const void* nrhs,
              const double* a, const void* lda, double* b, const void* ldb, void* info,
              std::size_t length);

/// Before a routine that needs factors in double precision: puts them there.
void need_lu(const Lapack& lapack, const void* n, const double* a, const void* lda,
             const void* ipiv);
void need_cholesky(const Lapack& lapack, const char* uplo, const void* n, const double* a,
                   const void* lda);

/// LAPACKE_dgesv and LAPACKE_dposv; integers may have rubbish above their width.
std::int64_t do_lapacke_gesv(const Family& family, void* caller, int layout, std::int64_t n,
                             std::int64_t nrhs, double* a, std::int64_t lda, void* ipiv, double* b,
                             std::int64_t ldb);
std::int64_t do_lapacke_posv(const Family& family, void* caller, int layout, char uplo,
                             std::int64_t n, std::int64_t nrhs, double* a, std::int64_t lda,
                             double* b, std::int64_t ldb);

}  // namespace tailrace::lapack
