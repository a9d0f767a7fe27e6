// SPDX-License-Identifier: BSD-3-Clause
#include "file/writers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tailrace/box.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {

std::vector<int> spread_over_nodes(const NodeMap& nodes, int per_node) {
  std::vector<int> chosen;
  for (int node = 0; node < nodes.num_nodes(); ++node) {
    const auto ranks = nodes.ranks_on(node);
    const int count = std::min(per_node, static_cast<int>(ranks.size()));
    for (int k = 0; k < count; ++k) {
      const auto place = split_evenly(std::ssize(ranks), count, k).start;
      chosen.push_back(ranks[static_cast<std::size_t>(place)]);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<int> choose_writers(Settings& settings, const NodeMap& nodes, int per_node,
                                const std::string& reason) {
  const int num_ranks = nodes.num_ranks();
  if (!settings.cb_ranks.empty()) {
    if (settings.cb_ranks.back() < num_ranks) return settings.cb_ranks;
    throw Error(Errc::invalid_input,
                fmt::format("hint cb_ranks names rank {}, but there are ranks 0 to {}",
                            settings.cb_ranks.back(), num_ranks - 1));
  }
  if (settings.cb_nodes > 0) {
    const NodeMap one(std::vector<int>(static_cast<std::size_t>(num_ranks)));
    return spread_over_nodes(one, settings.cb_nodes);
  }
  auto writers = spread_over_nodes(nodes, per_node);
  settings.choose("cb_nodes", std::to_string(writers.size()), reason);
  return writers;
}

}  // namespace tailrace::file
