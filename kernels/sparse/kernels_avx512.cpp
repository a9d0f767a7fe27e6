// SPDX-License-Identifier: BSD-3-Clause
#include "sparse/lanes_avx512.hpp"
// After the lanes that it is made of.
#include "sparse/kernels_of_lanes.hpp"

namespace tailrace::sparse {

constinit const Kernels kernels_avx512 = kernels_of_lanes();

}  // namespace tailrace::sparse
