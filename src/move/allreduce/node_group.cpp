// SPDX-License-Identifier: BSD-3-Clause
#include "move/allreduce/node_group.hpp"

namespace tailrace {

NodeGroup::NodeGroup(const Comm& comm, const NodeMap& nodes)
    : node(comm.split(nodes.node_of(comm.rank()))),
      leaders(comm.split(node.rank() == 0 ? 0 : 1)),
      num_nodes(nodes.num_nodes()) {}

}  // namespace tailrace
