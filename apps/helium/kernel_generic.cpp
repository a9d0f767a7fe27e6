// SPDX-License-Identifier: BSD-3-Clause
#include "kernels.hpp"

#define LANES 2
#define WIDTH 2
#include "kernel_body.hpp"

namespace tailrace::helium {

const Kernel kernel_generic{"generic", apply};

}  // namespace tailrace::helium
