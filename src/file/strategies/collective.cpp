// SPDX-License-Identifier: BSD-3-Clause
// Two-phase I/O through several writers: `cb_nodes` of them, or some ranks of each node.
#include <fmt/format.h>

#include "file/pool.hpp"
#include "file/strategies/two_phase_strategy.hpp"
#include "file/writers.hpp"

namespace tailrace::file {
namespace {

// A file in memory takes one write at a time: more writers only wait for each other. A local disk
// takes a few at once. On a network file system a second writer of the same node shares its client,
// and clients that write one file together give up buffering.
int writers_per_node(FileSystem::Kind kind) { return kind == FileSystem::Kind::local ? 2 : 1; }

}  // namespace

std::unique_ptr<Strategy> make_collective(const StrategyRequest& request) {
  auto& settings = request.settings;
  const auto& system = settings.file_system;
  const int per_node = writers_per_node(system.kind);
  const auto reason = per_node == 1
                          ? fmt::format("one rank of each node on {}", system.name)
                          : fmt::format("up to {} ranks of each node on {}", per_node, system.name);
  const auto writers = choose_writers(settings, request.pool.nodes(), per_node, reason);
  return std::make_unique<TwoPhaseStrategy>(
      request, request.pool.two_phase(two_phase_shape(request, writers)));
}

}  // namespace tailrace::file
