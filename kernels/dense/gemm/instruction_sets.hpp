// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/gemm/gemm.hpp"

namespace tailrace::dense {

// One file each, compiled for it.
extern const GemmKernels<double> gemm_portable_d, gemm_avx2_d, gemm_avx512_d;
extern const GemmKernels<float> gemm_portable_s, gemm_avx2_s, gemm_avx512_s;
extern const FactorKernels<double> factor_avx2_d, factor_avx512_d;
extern const FactorKernels<float> factor_avx2_s, factor_avx512_s;

}  // namespace tailrace::dense
