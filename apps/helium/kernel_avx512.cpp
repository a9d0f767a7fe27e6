// SPDX-License-Identifier: BSD-3-Clause
#include "kernels.hpp"

#define LANES 8
#define WIDTH 2
#include "kernel_body.hpp"

namespace tailrace::helium {

const Kernel kernel_avx512{"avx512", apply};

}  // namespace tailrace::helium
