// SPDX-License-Identifier: BSD-3-Clause
#include "dense/gemm/instruction_sets.hpp"

namespace tailrace::dense {
namespace {
constexpr int vector_bytes = 32, row_vectors = 3, tile_columns = 4;
constexpr std::ptrdiff_t panel_columns = 96;
}  // namespace
}  // namespace tailrace::dense

// After the sizes that it is made of.
#include "dense/gemm/factor_kernels.hpp"
#include "dense/gemm/kernels.hpp"

namespace tailrace::dense {

constinit const GemmKernels<double> gemm_avx2_d = kernels_here<double>;
constinit const GemmKernels<float> gemm_avx2_s = kernels_here<float>;
constinit const FactorKernels<double> factor_avx2_d = factor_kernels_here<double>;
constinit const FactorKernels<float> factor_avx2_s = factor_kernels_here<float>;

}  // namespace tailrace::dense
