// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "tailrace/dense.hpp"

// Dense solvers that leave factors of low precision. Library tailrace::dense. Nothing here is
// collective.
namespace tailrace::dense {

/// Whether least squares of this size gain anything by `gels`. Local.
bool gels_pays(std::ptrdiff_t n, std::ptrdiff_t nrhs);

/// As `gels` with its fp32 rung alone, in place: `a` becomes Q and R in dgels' format, with the
/// digits of single precision. S is double or std::complex<double>; m >= n >= 1. Where that rung
/// does not give an answer, `Certificate::info` is -1, and `a` and `b` are unchanged. The errors of
/// the certificate are 0. Local, blocking. Throws std::invalid_argument that names the argument,
/// and std::bad_alloc, with `a` and `b` unchanged.
template <class S>
Certificate gels_in_place(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, S* a,
                          std::ptrdiff_t lda, S* b, std::ptrdiff_t ldb);

}  // namespace tailrace::dense
