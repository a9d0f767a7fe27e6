// SPDX-License-Identifier: BSD-3-Clause
// ScaLAPACK's pdgels under its Fortran name; the other routines are in parallel_symbols.cpp.in.
#include "parallel.hpp"

using namespace tailrace::lapack;

namespace {

using In = const int*;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

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
}
#pragma GCC visibility pop
