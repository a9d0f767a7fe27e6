// SPDX-License-Identifier: BSD-3-Clause
// ScaLAPACK's routines under their Fortran names.
#include "parallel.hpp"

using namespace tailrace::lapack;

namespace {

using In = const int*;

char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
}

double* writable(const double* items) { return const_cast<double*>(items); }
int* writable(In pivots) { return const_cast<int*>(pivots); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void pdgesv_(In n, In nrhs, double* a, In ia, In ja, In desc_a, int* pivots, double* b, In ib,
             In jb, In desc_b, int* info) {
  void* const caller = __builtin_return_address(0);
  const auto& scalapack = scalapack_of(caller);
  const ParallelCall call{scalapack,          caller, 'A', *n, *nrhs, {a, ia, ja, desc_a}, pivots,
                          {b, ib, jb, desc_b}};
  *info = solve_parallel(call, [&] {
    scalapack.call("pdgesv", n, nrhs, a, ia, ja, desc_a, pivots, b, ib, jb, desc_b, info);
    return *info;
  });
}

void pdposv_(const char* uplo, In n, In nrhs, double* a, In ia, In ja, In desc_a, double* b, In ib,
             In jb, In desc_b, int* info, std::size_t length) {
  void* const caller = __builtin_return_address(0);
  const auto& scalapack = scalapack_of(caller);
  const char triangle = upper(*uplo) == 'A' ? '?' : upper(*uplo);
  const ParallelCall call{scalapack,           caller,  triangle,           *n, *nrhs,
                          {a, ia, ja, desc_a}, nullptr, {b, ib, jb, desc_b}};
  *info = solve_parallel(call, [&] {
    scalapack.call("pdposv", uplo, n, nrhs, a, ia, ja, desc_a, b, ib, jb, desc_b, info, length);
    return *info;
  });
}

void pdgels_(const char* trans, In m, In n, In nrhs, double* a, In ia, In ja, In desc_a, double* b,
             In ib, In jb, In desc_b, double* work, In lwork, int* info, std::size_t length) {
  void* const caller = __builtin_return_address(0);
  const auto& scalapack = scalapack_of(caller);
  const ParallelLeastSquares call{scalapack, caller, upper(*trans),       *m,
                                  *n,        *nrhs,  {a, ia, ja, desc_a}, {b, ib, jb, desc_b},
                                  work,      lwork};
  *info = solve_parallel(call, [&](In size) {
    scalapack.call("pdgels", trans, m, n, nrhs, a, ia, ja, desc_a, b, ib, jb, desc_b, work, size,
                   info, length);
    return *info;
  });
}

void pdgetrs_(const char* trans, In n, In nrhs, const double* a, In ia, In ja, In desc_a, In pivots,
              double* b, In ib, In jb, In desc_b, int* info, std::size_t length) {
  const auto& scalapack = scalapack_of(__builtin_return_address(0));
  const ParallelFactors factors{
      scalapack, 'A', *n, {writable(a), ia, ja, desc_a}, writable(pivots)};
  if (solve_later(factors, upper(*trans) != 'N', *nrhs, {b, ib, jb, desc_b})) {
    *info = 0;
    return;
  }
  scalapack.call("pdgetrs", trans, n, nrhs, a, ia, ja, desc_a, pivots, b, ib, jb, desc_b, info,
                 length);
}

void pdpotrs_(const char* uplo, In n, In nrhs, const double* a, In ia, In ja, In desc_a, double* b,
              In ib, In jb, In desc_b, int* info, std::size_t length) {
  const auto& scalapack = scalapack_of(__builtin_return_address(0));
  const ParallelFactors factors{
      scalapack, upper(*uplo), *n, {writable(a), ia, ja, desc_a}, nullptr};
  if (solve_later(factors, false, *nrhs, {b, ib, jb, desc_b})) {
    *info = 0;
    return;
  }
  scalapack.call("pdpotrs", uplo, n, nrhs, a, ia, ja, desc_a, b, ib, jb, desc_b, info, length);
}

void pdgetri_(In n, double* a, In ia, In ja, In desc_a, In pivots, double* work, In lwork,
              int* iwork, In liwork, int* info) {
  const auto& scalapack = scalapack_of(__builtin_return_address(0));
  if (*lwork != -1 && *liwork != -1) {  // -1 asks for sizes
    need({scalapack, 'A', *n, {a, ia, ja, desc_a}, writable(pivots)});
  }
  scalapack.call("pdgetri", n, a, ia, ja, desc_a, pivots, work, lwork, iwork, liwork, info);
}

void pdpotri_(const char* uplo, In n, double* a, In ia, In ja, In desc_a, int* info,
              std::size_t length) {
  const auto& scalapack = scalapack_of(__builtin_return_address(0));
  need({scalapack, upper(*uplo), *n, {a, ia, ja, desc_a}, nullptr});
  scalapack.call("pdpotri", uplo, n, a, ia, ja, desc_a, info, length);
}

void pdgerfs_(const char* trans, In n, In nrhs, const double* a, In ia, In ja, In desc_a,
              const double* af, In iaf, In jaf, In desc_af, In pivots, const double* b, In ib,
              In jb, In desc_b, double* x, In ix, In jx, In desc_x, double* ferr, double* berr,
              double* work, In lwork, int* iwork, In liwork, int* info, std::size_t length) {
  const auto& scalapack = scalapack_of(__builtin_return_address(0));
  if (*lwork != -1 && *liwork != -1) {
    need({scalapack, 'A', *n, {writable(af), iaf, jaf, desc_af}, writable(pivots)});
  }
  scalapack.call("pdgerfs", trans, n, nrhs, a, ia, ja, desc_a, af, iaf, jaf, desc_af, pivots, b, ib,
                 jb, desc_b, x, ix, jx, desc_x, ferr, berr, work, lwork, iwork, liwork, info,
                 length);
}

void pdporfs_(const char* uplo, In n, In nrhs, const double* a, In ia, In ja, In desc_a,
              const double* af, In iaf, In jaf, In desc_af, const double* b, In ib, In jb,
              In desc_b, double* x, In ix, In jx, In desc_x, double* ferr, double* berr,
              double* work, In lwork, int* iwork, In liwork, int* info, std::size_t length) {
  const auto& scalapack = scalapack_of(__builtin_return_address(0));
  if (*lwork != -1 && *liwork != -1) {
    need({scalapack, upper(*uplo), *n, {writable(af), iaf, jaf, desc_af}, nullptr});
  }
  scalapack.call("pdporfs", uplo, n, nrhs, a, ia, ja, desc_a, af, iaf, jaf, desc_af, b, ib, jb,
                 desc_b, x, ix, jx, desc_x, ferr, berr, work, lwork, iwork, liwork, info, length);
}
}
#pragma GCC visibility pop
