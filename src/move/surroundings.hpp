// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/wait.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/node_map.hpp"

namespace tailrace {

/// What every method of moving data asks about the machine, found once for a communicator.
struct Surroundings {
  Surroundings() = default;
  /// Collective, blocking.
  explicit Surroundings(const Comm& comm)
      : nodes(comm), facts(find_wait_facts(comm)), waiting(choose_wait_policy(facts)) {}

  bool one_node() const { return nodes.num_nodes() == 1; }

  NodeMap nodes;
  WaitFacts facts;
  WaitPolicy waiting;
};

}  // namespace tailrace
