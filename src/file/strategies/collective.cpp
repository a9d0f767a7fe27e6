// SPDX-License-Identifier: BSD-3-Clause
// Two-phase I/O through several writers: `cb_nodes` of them, or some ranks of each node.
#include <algorithm>

#include <fmt/format.h>

#include "file/pool.hpp"
#include "file/strategies/two_phase_strategy.hpp"
#include "tailrace/box.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {
namespace {

// A file in memory takes one write at a time: more writers only wait for each other. A local disk
// takes a few at once. On a network file system a second writer of the same node shares its client,
// and clients that write one file together give up buffering.
int writers_per_node(FileSystem::Kind kind) { return kind == FileSystem::Kind::local ? 2 : 1; }

std::vector<int> choose_writers(const StrategyRequest& request) {
  auto& settings = request.settings;
  if (!settings.cb_ranks.empty()) {
    if (settings.cb_ranks.back() >= request.comm.num_ranks()) {
      throw Error(Errc::invalid_input,
                  fmt::format("hint cb_ranks names rank {}, but there are ranks 0 to {}",
                              settings.cb_ranks.back(), request.comm.num_ranks() - 1));
    }
    return settings.cb_ranks;
  }
  if (settings.cb_nodes > 0) {
    const int count = std::min(settings.cb_nodes, request.comm.num_ranks());
    std::vector<int> writers;
    for (int w = 0; w < count; ++w) {
      writers.push_back(static_cast<int>(split_evenly(request.comm.num_ranks(), count, w).start));
    }
    return writers;
  }
  const int per_node = writers_per_node(settings.file_system.kind);
  const auto& writers = request.pool.spread_over_nodes(per_node);
  settings.choose(
      "cb_nodes", std::to_string(writers.size()),
      per_node == 1
          ? fmt::format("one rank of each node on {}", settings.file_system.name)
          : fmt::format("up to {} ranks of each node on {}", per_node, settings.file_system.name));
  return writers;
}

}  // namespace

std::unique_ptr<Strategy> make_collective(const StrategyRequest& request) {
  const auto shape = two_phase_shape(request, choose_writers(request));
  return std::make_unique<TwoPhaseStrategy>(request, request.pool.two_phase(shape));
}

}  // namespace tailrace::file
