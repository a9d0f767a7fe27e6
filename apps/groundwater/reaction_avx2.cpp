// SPDX-License-Identifier: BSD-3-Clause
#define LANES 4
#include "reaction_body.hpp"

namespace tailrace::groundwater {

extern const ReactionKernel reaction_avx2;
const ReactionKernel reaction_avx2{"avx2", LANES, solve, balance, relate, divide, settle};

}  // namespace tailrace::groundwater
