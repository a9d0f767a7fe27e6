// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The routines that stand for LAPACK's, in the form that all families share. Arguments are those of
// the Fortran routines, integers of the width of the caller's library.

#include <complex>

#include "library.hpp"

namespace tailrace::lapack {

/// For items of type S: double or std::complex<double>.
template <class S>
struct Drivers {
  using In = const void*;
  using Int = std::int64_t;

  static void gesv(const Family& family, void* caller, In n, In nrhs, S* a, In lda, void* ipiv,
                   S* b, In ldb, void* info);
  static void posv(const Family& family, void* caller, const char* uplo, In n, In nrhs, S* a,
                   In lda, S* b, In ldb, void* info, std::size_t length);
  /// Of square matrices; ours only with TAILRACE_REFINE=pairs.
  static void getrf(const Family& family, void* caller, In m, In n, S* a, In lda, void* ipiv,
                    void* info);
  static void getrs(const Family& family, void* caller, const char* trans, In n, In nrhs,
                    const S* a, In lda, In ipiv, S* b, In ldb, void* info, std::size_t length);
  static void potrs(const Family& family, void* caller, const char* uplo, In n, In nrhs, const S* a,
                    In lda, S* b, In ldb, void* info, std::size_t length);
  /// Of full rank, with at least as many rows as columns and without a transpose.
  static void gels(const Family& family, void* caller, const char* trans, In m, In n, In nrhs, S* a,
                   In lda, S* b, In ldb, S* work, In lwork, void* info, std::size_t length);

  /// Before a routine that needs factors in double precision: puts them there.
  static void need_lu(const Lapack& lapack, In n, const S* a, In lda, In ipiv);
  static void need_cholesky(const Lapack& lapack, const char* uplo, In n, const S* a, In lda);

  /// LAPACKE's functions; integers may have rubbish above their width.
  static Int lapacke_gesv(const Family& family, void* caller, int layout, Int n, Int nrhs, S* a,
                          Int lda, void* ipiv, S* b, Int ldb);
  static Int lapacke_posv(const Family& family, void* caller, int layout, char uplo, Int n,
                          Int nrhs, S* a, Int lda, S* b, Int ldb);
  static Int lapacke_gels(const Family& family, void* caller, int layout, char trans, Int m, Int n,
                          Int nrhs, S* a, Int lda, S* b, Int ldb);
};

extern template struct Drivers<double>;
extern template struct Drivers<std::complex<double>>;

}  // namespace tailrace::lapack
