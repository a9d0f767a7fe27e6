// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "server/stream_state.hpp"
#include "server/team.hpp"
#include "tailrace/session.hpp"

namespace tailrace::server {

/// A stream without servers: the compute ranks write inside `write`, and make the products
/// themselves. Collective over the compute ranks, blocking. Throws on all of them.
std::shared_ptr<Stream::State> open_direct_stream(std::string name, StreamOptions options,
                                                  const Team& team, const SessionOptions& session);

/// A stream without servers: threads of the compute ranks that write, as an `Output` has them.
/// Collective over the compute ranks, blocking. Throws `Errc::invalid_input` on all of them for
/// options that need servers.
std::shared_ptr<Stream::State> open_hidden_stream(std::string name, StreamOptions options,
                                                  const Team& team, Trace* trace);

}  // namespace tailrace::server
