// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <set>
#include <string>
#include <vector>

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

/// Folders that files of fields and of `products` go to. Local.
std::set<std::string> output_folders(const std::string& folder,
                                     const std::vector<Product>& products);

/// How checkpoints are written: none is left out, and a failure ends the run. Local.
StreamOptions checkpoint_options(const Case& values);

}  // namespace tailrace::turbulence
