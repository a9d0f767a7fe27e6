// SPDX-License-Identifier: BSD-3-Clause
#define LANES 1
#include "reaction_body.hpp"

namespace tailrace::groundwater {

extern const ReactionKernel reaction_scalar;
const ReactionKernel reaction_scalar{"scalar", LANES, solve, balance, relate, divide, settle};

}  // namespace tailrace::groundwater
