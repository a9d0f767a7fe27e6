// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>

// BLACS's and ScaLAPACK's routines of this room, by their Fortran names.
extern "C" {
void blacs_gridinfo_(const int* context, int* rows, int* columns, int* row, int* column);
// The sum and the largest size of each item over the ranks of `scope`; -1: all of them get it.
void dgsum2d_(const int* context, const char* scope, const char* topology, const int* m,
              const int* n, double* a, const int* lda, const int* to_row, const int* to_column);
void dgamx2d_(const int* context, const char* scope, const char* topology, const int* m,
              const int* n, double* a, const int* lda, int* rows, int* columns, const int* ld,
              const int* to_row, const int* to_column);

void pdgesv_(const int* n, const int* nrhs, double* a, const int* ia, const int* ja,
             const int* desc_a, int* pivots, double* b, const int* ib, const int* jb,
             const int* desc_b, int* info);
void psgetrf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desc_a,
              int* pivots, int* info);
void psgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* ia,
              const int* ja, const int* desc_a, const int* pivots, float* b, const int* ib,
              const int* jb, const int* desc_b, int* info, std::size_t);
void pspotrf_(const char* uplo, const int* n, float* a, const int* ia, const int* ja,
              const int* desc_a, int* info, std::size_t);
void pspotrs_(const char* uplo, const int* n, const int* nrhs, const float* a, const int* ia,
              const int* ja, const int* desc_a, float* b, const int* ib, const int* jb,
              const int* desc_b, int* info, std::size_t);
void psgeqrf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desc_a,
              float* tau, float* work, const int* lwork, int* info);
void psgelqf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desc_a,
              float* tau, float* work, const int* lwork, int* info);
void psormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k,
              const float* a, const int* ia, const int* ja, const int* desc_a, const float* tau,
              float* c, const int* ic, const int* jc, const int* desc_c, float* work,
              const int* lwork, int* info, std::size_t, std::size_t);
void psormlq_(const char* side, const char* trans, const int* m, const int* n, const int* k,
              const float* a, const int* ia, const int* ja, const int* desc_a, const float* tau,
              float* c, const int* ic, const int* jc, const int* desc_c, float* work,
              const int* lwork, int* info, std::size_t, std::size_t);
void pstrsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m,
             const int* n, const float* alpha, const float* a, const int* ia, const int* ja,
             const int* desc_a, float* b, const int* ib, const int* jb, const int* desc_b,
             std::size_t, std::size_t, std::size_t, std::size_t);

void pdgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desc_a,
             const double* b, const int* ib, const int* jb, const int* desc_b, const double* beta,
             double* c, const int* ic, const int* jc, const int* desc_c, std::size_t, std::size_t);
void pdsymm_(const char* side, const char* uplo, const int* m, const int* n, const double* alpha,
             const double* a, const int* ia, const int* ja, const int* desc_a, const double* b,
             const int* ib, const int* jb, const int* desc_b, const double* beta, double* c,
             const int* ic, const int* jc, const int* desc_c, std::size_t, std::size_t);

void pcgetrf_(const int* m, const int* n, std::complex<float>* a, const int* ia, const int* ja,
              const int* desc_a, int* pivots, int* info);
void pcgetrs_(const char* trans, const int* n, const int* nrhs, const std::complex<float>* a,
              const int* ia, const int* ja, const int* desc_a, const int* pivots,
              std::complex<float>* b, const int* ib, const int* jb, const int* desc_b, int* info,
              std::size_t);
void pcpotrf_(const char* uplo, const int* n, std::complex<float>* a, const int* ia, const int* ja,
              const int* desc_a, int* info, std::size_t);
void pcpotrs_(const char* uplo, const int* n, const int* nrhs, const std::complex<float>* a,
              const int* ia, const int* ja, const int* desc_a, std::complex<float>* b,
              const int* ib, const int* jb, const int* desc_b, int* info, std::size_t);
void pzgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const std::complex<double>* alpha, const std::complex<double>* a, const int* ia,
             const int* ja, const int* desc_a, const std::complex<double>* b, const int* ib,
             const int* jb, const int* desc_b, const std::complex<double>* beta,
             std::complex<double>* c, const int* ic, const int* jc, const int* desc_c, std::size_t,
             std::size_t);
void pzhemm_(const char* side, const char* uplo, const int* m, const int* n,
             const std::complex<double>* alpha, const std::complex<double>* a, const int* ia,
             const int* ja, const int* desc_a, const std::complex<double>* b, const int* ib,
             const int* jb, const int* desc_b, const std::complex<double>* beta,
             std::complex<double>* c, const int* ic, const int* jc, const int* desc_c, std::size_t,
             std::size_t);
}

/// The routines of a type by name alone: Scalapack<T>::getrs is psgetrs_ where T is float.
namespace tailrace::dense {

template <class T>
struct Scalapack;
template <>
struct Scalapack<float> {
  static constexpr auto getrf = psgetrf_;
  static constexpr auto getrs = psgetrs_;
  static constexpr auto potrf = pspotrf_;
  static constexpr auto potrs = pspotrs_;
};
template <>
struct Scalapack<std::complex<float>> {
  static constexpr auto getrf = pcgetrf_;
  static constexpr auto getrs = pcgetrs_;
  static constexpr auto potrf = pcpotrf_;
  static constexpr auto potrs = pcpotrs_;
};
template <>
struct Scalapack<double> {
  static constexpr auto gemm = pdgemm_;
  static constexpr auto hemm = pdsymm_;
};
template <>
struct Scalapack<std::complex<double>> {
  static constexpr auto gemm = pzgemm_;
  static constexpr auto hemm = pzhemm_;
};

}  // namespace tailrace::dense
