// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tailrace/more/stage.hpp"

namespace tailrace::server {

/// Throws `Errc::invalid_input` if one has no name, or a name no function. Local.
void check_functions(const StageFunctions& functions);

}  // namespace tailrace::server
