// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/same_on_all.hpp"
#include "core/wait.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace {

/// What every method of moving data asks about the machine, found once for a communicator.
struct Surroundings {
  Surroundings() = default;
  /// Collective, blocking.
  explicit Surroundings(const Comm& comm)
      : nodes(comm), facts(find_wait_facts(comm)), waiting(choose_wait_policy(facts)) {}

  /// The same for all ranks where methods ask: where some may wait inside MPI and others must not,
  /// nobody does, as blocking and non-blocking calls do not meet. Collective, blocking.
  static Surroundings agreed(const Comm& comm) {
    Surroundings machine(comm);
    machine.waiting.inside_mpi = true_on_all(comm, machine.waiting.inside_mpi);
    return machine;
  }

  bool one_node() const { return nodes.num_nodes() == 1; }

  NodeMap nodes;
  WaitFacts facts;
  WaitPolicy waiting;
};

}  // namespace tailrace
