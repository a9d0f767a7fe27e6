// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "move/blocks/runner.hpp"
#include "move/method.hpp"
#include "tailrace/more/tune.hpp"

namespace tailrace {

/// `MethodSpec::parse`, with an error that all ranks throw. Collective, blocking.
MethodSpec parse_agreed(const Comm& comm, std::string_view text);

/// What "auto" stands for, the same on all ranks of `everybody`. These may be several groups, each
/// with a problem of its own and a communicator of its ranks: they are timed together, as they will
/// run together and share cores, memory and network. Collective over `everybody`, blocking.
tune::Choice choose_move_method(const Comm& everybody, const MoveProblem& problem);

/// The same without timing anything, for what runs once: what `choose_move_method` takes where
/// nothing has been measured. Collective over `everybody`, blocking.
tune::Choice untimed_move_method(const Comm& everybody, const Surroundings& machine);

/// The same as `choose_move_method` for blocks; `comm` has the ranks of the group.
tune::Choice choose_block_method(const Comm& everybody, const Comm& comm, const BlockShape& shape,
                                 const Surroundings& machine);

}  // namespace tailrace
