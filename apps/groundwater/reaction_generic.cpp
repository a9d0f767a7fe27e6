// SPDX-License-Identifier: BSD-3-Clause
#define LANES 4
#include "reaction_body.hpp"

namespace tailrace::groundwater {

extern const ReactionKernel reaction_generic;
const ReactionKernel reaction_generic{"generic", LANES, solve, balance, relate, divide, settle};

}  // namespace tailrace::groundwater
