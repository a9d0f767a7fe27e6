// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tailrace/comm.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace {

/// The ranks of one's node, and the first ranks of all nodes, which speak for them.
struct NodeGroup {
  /// Collective, blocking.
  NodeGroup(const Comm& comm, const NodeMap& nodes)
      : node(comm.split(nodes.node_of(comm.rank()))),
        leaders(comm.split(node.rank() == 0 ? 0 : 1)),
        num_nodes(nodes.num_nodes()) {}

  bool leads() const { return node.rank() == 0; }
  bool lone() const { return num_nodes == 1; }

  Comm node;
  Comm leaders;  ///< the rank is the node's number; of no use to ranks that do not lead
  int num_nodes;
};

}  // namespace tailrace
