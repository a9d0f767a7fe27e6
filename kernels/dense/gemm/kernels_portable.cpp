// SPDX-License-Identifier: BSD-3-Clause
#include "dense/gemm/instruction_sets.hpp"

namespace tailrace::dense {
namespace {
constexpr int vector_bytes = 16, row_vectors = 2, tile_columns = 4;
}  // namespace
}  // namespace tailrace::dense

// After the sizes that it is made of.
#include "dense/gemm/kernels.hpp"

namespace tailrace::dense {

constinit const GemmKernels<double> gemm_portable_d = kernels_here<double>;
constinit const GemmKernels<float> gemm_portable_s = kernels_here<float>;

}  // namespace tailrace::dense
