// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "tailrace/more/output_options.hpp"

namespace tailrace::server {

/// Throws `Errc::invalid_input` for a setting that a session has no use for: what is written is
/// said where an output is opened. Local.
void refuse_settings_of_outputs(const OutputOptions& options);

/// Throws `Errc::invalid_input` for a setting that a session decides for its outputs: who writes is
/// said where the session is made. `name` is that of the output. Local.
void refuse_settings_of_sessions(const std::string& name, const OutputOptions& options);

}  // namespace tailrace::server
