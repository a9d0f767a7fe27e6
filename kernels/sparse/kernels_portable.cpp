// SPDX-License-Identifier: BSD-3-Clause
#include "sparse/lanes_portable.hpp"
// After the lanes that it is made of.
#include "sparse/kernels_of_lanes.hpp"

namespace tailrace::sparse {

constinit const Kernels kernels_portable = kernels_of_lanes();

}  // namespace tailrace::sparse
