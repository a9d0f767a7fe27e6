// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "kernel.hpp"

namespace tailrace::helium {

extern const Kernel kernel_generic;
#ifdef TAILRACE_HELIUM_X86
extern const Kernel kernel_avx2, kernel_avx512;
#endif

}  // namespace tailrace::helium
