// SPDX-License-Identifier: BSD-3-Clause
// What can be wrong with what an `Exchange` is made of.
#pragma once

#include <string>
#include <string_view>

#include "move/method.hpp"

namespace tailrace {

/// The first thing that is wrong on this rank, or "". Local; takes about a microsecond for each box
/// that this rank sends or gets.
std::string find_fault(const MoveProblem& problem);

/// Throws `Errc::invalid_input` on all ranks alike if they ask for different things: shapes,
/// methods, or plans of which one sends what the other does not expect. Collective, blocking.
void require_agreement(const MoveProblem& problem, std::string_view method);

}  // namespace tailrace
