// SPDX-License-Identifier: BSD-3-Clause
#include "kernels.hpp"

#define LANES 4
#define WIDTH 2
#include "kernel_body.hpp"

namespace tailrace::helium {

const Kernel kernel_avx2{"avx2", apply};

}  // namespace tailrace::helium
