// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>

// LAPACK's routines of this room, by their Fortran names; characters pass their length at the end.
extern "C" {
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* ipiv, int* info);
void sgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* lda,
             const int* ipiv, float* b, const int* ldb, int* info, std::size_t);
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info, std::size_t);
void spotrs_(const char* uplo, const int* n, const int* nrhs, const float* a, const int* lda,
             float* b, const int* ldb, int* info, std::size_t);
void dgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* ipiv, double* b,
            const int* ldb, int* info);
void dposv_(const char* uplo, const int* n, const int* nrhs, double* a, const int* lda, double* b,
            const int* ldb, int* info, std::size_t);
void dgemv_(const char* trans, const int* m, const int* n, const double* alpha, const double* a,
            const int* lda, const double* x, const int* incx, const double* beta, double* y,
            const int* incy, std::size_t);
void dsymv_(const char* uplo, const int* n, const double* alpha, const double* a, const int* lda,
            const double* x, const int* incx, const double* beta, double* y, const int* incy,
            std::size_t);
void sgeqrf_(const int* m, const int* n, float* a, const int* lda, float* tau, float* work,
             const int* lwork, int* info);
void sormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k,
             const float* a, const int* lda, const float* tau, float* c, const int* ldc,
             float* work, const int* lwork, int* info, std::size_t, std::size_t);
void strtrs_(const char* uplo, const char* trans, const char* diag, const int* n, const int* nrhs,
             const float* a, const int* lda, float* b, const int* ldb, int* info, std::size_t,
             std::size_t, std::size_t);
void strcon_(const char* norm, const char* uplo, const char* diag, const int* n, const float* a,
             const int* lda, float* rcond, float* work, int* more, int* info, std::size_t,
             std::size_t, std::size_t);
void dgels_(const char* trans, const int* m, const int* n, const int* nrhs, double* a,
            const int* lda, double* b, const int* ldb, double* work, const int* lwork, int* info,
            std::size_t);

void cgetrf_(const int* m, const int* n, std::complex<float>* a, const int* lda, int* ipiv,
             int* info);
void cgetrs_(const char* trans, const int* n, const int* nrhs, const std::complex<float>* a,
             const int* lda, const int* ipiv, std::complex<float>* b, const int* ldb, int* info,
             std::size_t);
void cpotrf_(const char* uplo, const int* n, std::complex<float>* a, const int* lda, int* info,
             std::size_t);
void cpotrs_(const char* uplo, const int* n, const int* nrhs, const std::complex<float>* a,
             const int* lda, std::complex<float>* b, const int* ldb, int* info, std::size_t);
void zgesv_(const int* n, const int* nrhs, std::complex<double>* a, const int* lda, int* ipiv,
            std::complex<double>* b, const int* ldb, int* info);
void zposv_(const char* uplo, const int* n, const int* nrhs, std::complex<double>* a,
            const int* lda, std::complex<double>* b, const int* ldb, int* info, std::size_t);
void zgemv_(const char* trans, const int* m, const int* n, const std::complex<double>* alpha,
            const std::complex<double>* a, const int* lda, const std::complex<double>* x,
            const int* incx, const std::complex<double>* beta, std::complex<double>* y,
            const int* incy, std::size_t);
void zhemv_(const char* uplo, const int* n, const std::complex<double>* alpha,
            const std::complex<double>* a, const int* lda, const std::complex<double>* x,
            const int* incx, const std::complex<double>* beta, std::complex<double>* y,
            const int* incy, std::size_t);
void cgeqrf_(const int* m, const int* n, std::complex<float>* a, const int* lda,
             std::complex<float>* tau, std::complex<float>* work, const int* lwork, int* info);
void cunmqr_(const char* side, const char* trans, const int* m, const int* n, const int* k,
             const std::complex<float>* a, const int* lda, const std::complex<float>* tau,
             std::complex<float>* c, const int* ldc, std::complex<float>* work, const int* lwork,
             int* info, std::size_t, std::size_t);
void ctrtrs_(const char* uplo, const char* trans, const char* diag, const int* n, const int* nrhs,
             const std::complex<float>* a, const int* lda, std::complex<float>* b, const int* ldb,
             int* info, std::size_t, std::size_t, std::size_t);
void ctrcon_(const char* norm, const char* uplo, const char* diag, const int* n,
             const std::complex<float>* a, const int* lda, float* rcond, std::complex<float>* work,
             float* more, int* info, std::size_t, std::size_t, std::size_t);
void zgels_(const char* trans, const int* m, const int* n, const int* nrhs, std::complex<double>* a,
            const int* lda, std::complex<double>* b, const int* ldb, std::complex<double>* work,
            const int* lwork, int* info, std::size_t);
}

/// The routines of a type by name alone: Lapack<T>::getrs is sgetrs_ where T is float.
namespace tailrace::dense {

template <class T>
struct Lapack;
template <>
struct Lapack<float> {
  static constexpr auto getrf = sgetrf_;
  static constexpr auto getrs = sgetrs_;
  static constexpr auto potrf = spotrf_;
  static constexpr auto potrs = spotrs_;
  static constexpr auto geqrf = sgeqrf_;
  static constexpr auto apply_q = sormqr_;
  static constexpr const char* adjoint = "T";  ///< of Q
  static constexpr auto trtrs = strtrs_;
  static constexpr auto trcon = strcon_;
  using TrconWork = int;
};
template <>
struct Lapack<std::complex<float>> {
  static constexpr auto getrf = cgetrf_;
  static constexpr auto getrs = cgetrs_;
  static constexpr auto potrf = cpotrf_;
  static constexpr auto potrs = cpotrs_;
  static constexpr auto geqrf = cgeqrf_;
  static constexpr auto apply_q = cunmqr_;
  static constexpr const char* adjoint = "C";  ///< of Q
  static constexpr auto trtrs = ctrtrs_;
  static constexpr auto trcon = ctrcon_;
  using TrconWork = float;
};
template <>
struct Lapack<double> {
  static constexpr auto gesv = dgesv_;
  static constexpr auto posv = dposv_;
  static constexpr auto gels = dgels_;
  static constexpr auto gemv = dgemv_;
  static constexpr auto hemv = dsymv_;
};
template <>
struct Lapack<std::complex<double>> {
  static constexpr auto gesv = zgesv_;
  static constexpr auto posv = zposv_;
  static constexpr auto gels = zgels_;
  static constexpr auto gemv = zgemv_;
  static constexpr auto hemv = zhemv_;
};

}  // namespace tailrace::dense
