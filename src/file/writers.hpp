// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "file/settings.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace::file {

/// Up to `per_node` ranks of each node, spread evenly over its ranks; ascending, rank 0 among them.
/// Local.
std::vector<int> spread_over_nodes(const NodeMap& nodes, int per_node);

/// Who writes for all: hint `cb_ranks`, or `cb_nodes` ranks spread evenly, or up to `per_node` of
/// each node, because of `reason`, which it notes. Ascending. Throws `Errc::invalid_input` for
/// ranks that there are not. Local.
std::vector<int> choose_writers(Settings& settings, const NodeMap& nodes, int per_node,
                                const std::string& reason);

}  // namespace tailrace::file
