// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "case.hpp"
#include "tailrace/session.hpp"

namespace tailrace::turbulence {

/// How the files of a case are written by the ranks that compute. Throws `Errc::invalid_input` for
/// a hint that is not NAME=VALUE. Local.
OutputOptions file_options(const Case& values);

/// The session that `output.servers` asks for; output goes to `folder`. Local.
SessionOptions session_options(const Case& values, const std::string& folder, Trace* trace);

/// How a session writes the fields, products included: a product's path that neither begins with
/// "{path}" nor with a slash lies in `folder`. Local.
StreamOptions field_options(const Case& values, const std::string& folder, Trace* trace);

/// How checkpoints are written: none is left out, and a failure ends the run. Local.
StreamOptions checkpoint_options(const Case& values);

}  // namespace tailrace::turbulence
