// SPDX-License-Identifier: BSD-3-Clause
// ScaLAPACK's routines that tailrace::dense calls by their Fortran names, passed on to the library
// in use. They are seen in this shared library only.
#include "scalapack.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace tailrace::lapack {

namespace {

constexpr Family fortran{"", "_", ""};

Scalapack load(void* caller) {
  Scalapack found;
  for (std::size_t i = 0; i < parallel_names.size(); ++i) {
    found.addresses[i] = find_routine(caller, std::string(parallel_names[i]) + "_");
    if (found.addresses[i] != nullptr) continue;
    if (i >= ParallelRoutine("psgetrf").index) found.usable = false;
    if (i >= ParallelRoutine("psgeqrf").index) {
      found.has_qr = false;
    } else if (i >= ParallelRoutine("pcgetrf").index) {
      found.has_complex = false;
    }
  }
  if (has_wide_integers(fortran, caller)) found.usable = false;
  return found;
}

thread_local const Scalapack* current = nullptr;

}  // namespace

const Scalapack& scalapack_of(void* caller) {
  static std::mutex mutex;
  static auto& known = *new std::map<void*, Scalapack>;
  const std::scoped_lock lock(mutex);
  const auto at = known.find(caller);
  return at != known.end() ? at->second : known.emplace(caller, load(caller)).first->second;
}

UsingScalapack::UsingScalapack(const Scalapack& scalapack)
    : before_(std::exchange(current, &scalapack)) {}
UsingScalapack::~UsingScalapack() { current = before_; }
const Scalapack* scalapack_in_use() { return current; }

}  // namespace tailrace::lapack

using namespace tailrace::lapack;

namespace {

using Float = std::complex<float>;
using Double = std::complex<double>;

}  // namespace

extern "C" {

void blacs_gridinfo_(const int* context, int* rows, int* columns, int* row, int* column) {
  current->call("blacs_gridinfo", context, rows, columns, row, column);
}
void dgsum2d_(const int* context, const char* scope, const char* topology, const int* m,
              const int* n, double* a, const int* lda, const int* to_row, const int* to_column) {
  current->call("dgsum2d", context, scope, topology, m, n, a, lda, to_row, to_column);
}
void dgamx2d_(const int* context, const char* scope, const char* topology, const int* m,
              const int* n, double* a, const int* lda, int* rows, int* columns, const int* ld,
              const int* to_row, const int* to_column) {
  current->call("dgamx2d", context, scope, topology, m, n, a, lda, rows, columns, ld, to_row,
                to_column);
}

void psgetrf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desc_a,
              int* pivots, int* info) {
  current->call("psgetrf", m, n, a, ia, ja, desc_a, pivots, info);
}
void psgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* ia,
              const int* ja, const int* desc_a, const int* pivots, float* b, const int* ib,
              const int* jb, const int* desc_b, int* info, std::size_t length) {
  current->call("psgetrs", trans, n, nrhs, a, ia, ja, desc_a, pivots, b, ib, jb, desc_b, info,
                length);
}
void pspotrf_(const char* uplo, const int* n, float* a, const int* ia, const int* ja,
              const int* desc_a, int* info, std::size_t length) {
  current->call("pspotrf", uplo, n, a, ia, ja, desc_a, info, length);
}
void pspotrs_(const char* uplo, const int* n, const int* nrhs, const float* a, const int* ia,
              const int* ja, const int* desc_a, float* b, const int* ib, const int* jb,
              const int* desc_b, int* info, std::size_t length) {
  current->call("pspotrs", uplo, n, nrhs, a, ia, ja, desc_a, b, ib, jb, desc_b, info, length);
}
void psgeqrf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desc_a,
              float* tau, float* work, const int* lwork, int* info) {
  current->call("psgeqrf", m, n, a, ia, ja, desc_a, tau, work, lwork, info);
}
void psgelqf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desc_a,
              float* tau, float* work, const int* lwork, int* info) {
  current->call("psgelqf", m, n, a, ia, ja, desc_a, tau, work, lwork, info);
}
void psormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k,
              const float* a, const int* ia, const int* ja, const int* desc_a, const float* tau,
              float* c, const int* ic, const int* jc, const int* desc_c, float* work,
              const int* lwork, int* info, std::size_t l1, std::size_t l2) {
  current->call("psormqr", side, trans, m, n, k, a, ia, ja, desc_a, tau, c, ic, jc, desc_c, work,
                lwork, info, l1, l2);
}
void psormlq_(const char* side, const char* trans, const int* m, const int* n, const int* k,
              const float* a, const int* ia, const int* ja, const int* desc_a, const float* tau,
              float* c, const int* ic, const int* jc, const int* desc_c, float* work,
              const int* lwork, int* info, std::size_t l1, std::size_t l2) {
  current->call("psormlq", side, trans, m, n, k, a, ia, ja, desc_a, tau, c, ic, jc, desc_c, work,
                lwork, info, l1, l2);
}
void pstrsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m,
             const int* n, const float* alpha, const float* a, const int* ia, const int* ja,
             const int* desc_a, float* b, const int* ib, const int* jb, const int* desc_b,
             std::size_t l1, std::size_t l2, std::size_t l3, std::size_t l4) {
  current->call("pstrsm", side, uplo, trans, diag, m, n, alpha, a, ia, ja, desc_a, b, ib, jb,
                desc_b, l1, l2, l3, l4);
}

void pdgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desc_a,
             const double* b, const int* ib, const int* jb, const int* desc_b, const double* beta,
             double* c, const int* ic, const int* jc, const int* desc_c, std::size_t l1,
             std::size_t l2) {
  current->call("pdgemm", transa, transb, m, n, k, alpha, a, ia, ja, desc_a, b, ib, jb, desc_b,
                beta, c, ic, jc, desc_c, l1, l2);
}
void pdsymm_(const char* side, const char* uplo, const int* m, const int* n, const double* alpha,
             const double* a, const int* ia, const int* ja, const int* desc_a, const double* b,
             const int* ib, const int* jb, const int* desc_b, const double* beta, double* c,
             const int* ic, const int* jc, const int* desc_c, std::size_t l1, std::size_t l2) {
  current->call("pdsymm", side, uplo, m, n, alpha, a, ia, ja, desc_a, b, ib, jb, desc_b, beta, c,
                ic, jc, desc_c, l1, l2);
}

void pcgetrf_(const int* m, const int* n, Float* a, const int* ia, const int* ja, const int* desc_a,
              int* pivots, int* info) {
  current->call("pcgetrf", m, n, a, ia, ja, desc_a, pivots, info);
}
void pcgetrs_(const char* trans, const int* n, const int* nrhs, const Float* a, const int* ia,
              const int* ja, const int* desc_a, const int* pivots, Float* b, const int* ib,
              const int* jb, const int* desc_b, int* info, std::size_t length) {
  current->call("pcgetrs", trans, n, nrhs, a, ia, ja, desc_a, pivots, b, ib, jb, desc_b, info,
                length);
}
void pcpotrf_(const char* uplo, const int* n, Float* a, const int* ia, const int* ja,
              const int* desc_a, int* info, std::size_t length) {
  current->call("pcpotrf", uplo, n, a, ia, ja, desc_a, info, length);
}
void pcpotrs_(const char* uplo, const int* n, const int* nrhs, const Float* a, const int* ia,
              const int* ja, const int* desc_a, Float* b, const int* ib, const int* jb,
              const int* desc_b, int* info, std::size_t length) {
  current->call("pcpotrs", uplo, n, nrhs, a, ia, ja, desc_a, b, ib, jb, desc_b, info, length);
}
void pzgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const Double* alpha, const Double* a, const int* ia, const int* ja, const int* desc_a,
             const Double* b, const int* ib, const int* jb, const int* desc_b, const Double* beta,
             Double* c, const int* ic, const int* jc, const int* desc_c, std::size_t l1,
             std::size_t l2) {
  current->call("pzgemm", transa, transb, m, n, k, alpha, a, ia, ja, desc_a, b, ib, jb, desc_b,
                beta, c, ic, jc, desc_c, l1, l2);
}
void pzhemm_(const char* side, const char* uplo, const int* m, const int* n, const Double* alpha,
             const Double* a, const int* ia, const int* ja, const int* desc_a, const Double* b,
             const int* ib, const int* jb, const int* desc_b, const Double* beta, Double* c,
             const int* ic, const int* jc, const int* desc_c, std::size_t l1, std::size_t l2) {
  current->call("pzhemm", side, uplo, m, n, alpha, a, ia, ja, desc_a, b, ib, jb, desc_b, beta, c,
                ic, jc, desc_c, l1, l2);
}
}
