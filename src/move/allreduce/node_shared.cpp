// SPDX-License-Identifier: BSD-3-Clause
// Shared memory of the node with sleeping waits; long vectors in slices, one a rank (NodeRunner).
// Wins where ranks share nodes, above all where they are more than the cores. Cost: one wake-up a
// rank for short vectors, two for long ones; each vector is copied in and read once.
#include "move/allreduce/node_runner.hpp"

namespace tailrace {

std::unique_ptr<ReductionRunner> make_reduction_node_shared(const ReductionProblem& problem) {
  return std::make_unique<NodeRunner>(problem, NodeRunner::LongVectors::in_slices_by_ranks);
}

}  // namespace tailrace
