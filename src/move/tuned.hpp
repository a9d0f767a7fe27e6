// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "move/blocks/runner.hpp"
#include "move/method.hpp"
#include "tailrace/tune.hpp"

namespace tailrace {

/// `MethodSpec::parse`, with an error that all ranks throw. Collective, blocking.
MethodSpec parse_agreed(const Comm& comm, std::string_view text);

/// The methods, and settings worth timing, with arrays of their own to try them on; reference
/// first. Making one that does not apply to `problem` throws. `problem` must outlive them. Local.
std::vector<tune::Candidate> move_candidates(const MoveProblem& problem);
/// What "auto" stands for. Collective, blocking; the same on all ranks.
tune::Choice choose_move_method(const MoveProblem& problem);

/// The same for blocks.
std::vector<tune::Candidate> block_candidates(const Comm& comm, const BlockShape& shape,
                                              const Surroundings& machine);
tune::Choice choose_block_method(const Comm& comm, const BlockShape& shape,
                                 const Surroundings& machine);

}  // namespace tailrace
