// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "tailrace/session.hpp"

namespace tailrace::app {

/// Runs `compute` in a session: on the ranks that compute, while the others serve. Returns the exit
/// code, on which all ranks agree: if the computation has failed, the servers do not go on without
/// it. Throws on all ranks. Collective, blocking.
int run_session(const Comm& comm, const SessionOptions& options,
                const std::function<void(const Comm&, Session&)>& compute);

}  // namespace tailrace::app
