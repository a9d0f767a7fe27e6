// SPDX-License-Identifier: BSD-3-Clause
// Ranks in groups; the first of each reads or writes for all of it. The number of opens and of
// requests to the file system does not depend on the ranks in a group.
#include <string>

#include "file/pool.hpp"
#include "file/strategies/two_phase_strategy.hpp"
#include "file/writers.hpp"

namespace tailrace::file {

std::unique_ptr<Strategy> make_grouped(const StrategyRequest& request) {
  auto& settings = request.settings;
  std::vector<int> roots;
  if (settings.group_size > 0) {
    for (int rank = 0; rank < request.comm.num_ranks(); rank += settings.group_size) {
      roots.push_back(rank);
    }
  } else {
    roots = spread_over_nodes(request.pool.nodes(), 1);
    settings.choose("group_size", std::to_string(request.pool.node().num_ranks()),
                    "the ranks of a node");
  }
  auto shape = two_phase_shape(request, roots);
  shape.group_size = settings.group_size > 0 ? settings.group_size : TwoPhaseShape::node_ranks;
  shape.alignment = Alignment::even;  // a group has one writer: nothing to share out
  return std::make_unique<TwoPhaseStrategy>(request, request.pool.two_phase(shape));
}

}  // namespace tailrace::file
