// SPDX-License-Identifier: BSD-3-Clause
// Shared memory of the node with sleeping waits; long vectors in slices, one a rank (NodeRunner).
// Wins where ranks share nodes, above all where they are more than the cores. Cost: short vectors
// are copied in, combined once, copied out, and a rank waits once (or not at all, if it only gives,
// see ReduceRing); long ones are read and written about twice, and a rank waits twice a piece.
//
// The limit on a crowded node: every rank must run once a call, so a core switches between ranks
// ranks / cores times. Measured with 16 ranks on 2 cores and 8 bytes: 9 to 16 us a call where ranks
// yield (1 to 2 us a switch), 31 to 34 us where they sleep and are woken (4 us); a second wait for
// each rank would double that. MPI's own trees wait several times a rank: 31 to 320 us.
#include "move/allreduce/node_runner.hpp"

namespace tailrace {

std::unique_ptr<ReductionRunner> make_reduction_node_shared(const ReductionProblem& problem) {
  return std::make_unique<NodeRunner>(problem, NodeRunner::LongVectors::in_slices_by_ranks);
}

}  // namespace tailrace
