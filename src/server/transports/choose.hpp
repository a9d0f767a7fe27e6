// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "server/transport.hpp"

namespace tailrace::server {

/// The transport that "auto" stands for here; `why` says why, in a sentence. The same on all ranks.
/// Probes. Collective over `team.all`, blocking. Throws `Errc::invalid_input` if none can be used.
const Transport& choose_transport(const Team& team, std::string& why);

}  // namespace tailrace::server
