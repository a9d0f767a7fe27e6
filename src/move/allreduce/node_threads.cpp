// SPDX-License-Identifier: BSD-3-Clause
// As node_shared, but threads of the node's first rank combine long vectors (NodeRunner). Wins
// where ranks are few and cores are many: a rank a socket, whose vectors (or those of its own
// threads, `Reduction::allreduce_parts`) are long. Cost: two wake-ups a rank.
#include "move/allreduce/node_runner.hpp"

namespace tailrace {

std::unique_ptr<ReductionRunner> make_reduction_node_threads(const ReductionProblem& problem) {
  return std::make_unique<NodeRunner>(problem, NodeRunner::LongVectors::by_threads_of_leader);
}

}  // namespace tailrace
