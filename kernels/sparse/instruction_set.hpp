// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse/kernels.hpp"
#include "tailrace/sparse.hpp"

namespace tailrace::sparse {

/// The kernels of the best instruction set that this processor has and `highest` allows.
const Kernels& kernels_up_to(InstructionSet highest);

}  // namespace tailrace::sparse
