// SPDX-License-Identifier: BSD-3-Clause
#include "model/network.hpp"

namespace tailrace::model {

Loads Network::no_load() const {
  Loads loads;
  for (const auto& kind : kinds_) loads.emplace_back(static_cast<std::size_t>(kind.num_links), 0.0);
  return loads;
}

void Network::add_message(Loads& loads, std::ptrdiff_t source, std::ptrdiff_t destination,
                          double bytes) const {
  if (source == destination) {
    loads[0][static_cast<std::size_t>(source)] += bytes;
  } else {
    route(loads, source, destination, bytes);
  }
}

void Network::add_all_to_all(Loads& loads, std::span<const NodeShare> nodes,
                             double bytes_per_pair) const {
  for (const auto& [node, count] : nodes) {
    loads[0][static_cast<std::size_t>(node)] += count * (count - 1) * bytes_per_pair;
  }
  if (nodes.size() > 1) spread(loads, nodes, bytes_per_pair);
}

}  // namespace tailrace::model
