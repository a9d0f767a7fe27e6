// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <toml++/toml.h>

#include "case.hpp"

namespace tailrace::turbulence {

/// The products of `node`, an array of tables with the keys name, variables, stages, path and
/// every; `where` says in messages where it stands. Throws `Errc::invalid_input`. Local.
std::vector<Product> parse_products(const toml::node& node, const std::string& where);

/// Throws `Errc::invalid_input` unless the products have names of their own and use fields that are
/// written, or if keys are set that need `output.servers` and there are none. Local.
void require_servers(const Case& values);

}  // namespace tailrace::turbulence
