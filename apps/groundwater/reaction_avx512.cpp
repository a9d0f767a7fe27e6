// SPDX-License-Identifier: BSD-3-Clause
#define LANES 8
#include "reaction_body.hpp"

namespace tailrace::groundwater {

extern const ReactionKernel reaction_avx512;
const ReactionKernel reaction_avx512{"avx512", LANES, solve, balance, relate, divide, settle};

}  // namespace tailrace::groundwater
