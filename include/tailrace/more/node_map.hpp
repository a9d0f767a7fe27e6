// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Which ranks of a communicator share a node. Nodes are numbered by their lowest rank.
///
/// The environment variable TAILRACE_RANKS_PER_NODE=k takes every k ranks of a node (that follow
/// one another in MPI_COMM_WORLD, whatever the communicator) for a separate node: sockets of a
/// large node, or several nodes on a laptop, to try what nodes change.
class NodeMap {
 public:
  /// A lone rank.
  NodeMap() : NodeMap(std::vector<int>{0}) {}
  /// As the machine is. Collective, blocking.
  explicit NodeMap(const Comm& comm) : NodeMap(comm, comm.node()) {}
  /// The same where `node`, which is `comm.node()`, has been made already.
  NodeMap(const Comm& comm, const Comm& node);
  /// From numbers that are given: `node_of[rank]`, any numbers; `domain_of[rank]`, the memory
  /// (NUMA) domain of its node that a rank runs in, or empty if that is unknown. Local.
  explicit NodeMap(std::vector<int> node_of, std::vector<int> domain_of = {});

  int num_ranks() const { return static_cast<int>(node_of_.size()); }
  int num_nodes() const { return static_cast<int>(ranks_on_.size()); }
  int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  int domain_of(int rank) const { return domain_of_[static_cast<std::size_t>(rank)]; }
  /// Ranks of a node, ascending.
  std::span<const int> ranks_on(int node) const {
    return ranks_on_[static_cast<std::size_t>(node)];
  }
  /// Ranks of the fullest node.
  int most_ranks() const;
  /// True if every node holds equally many ranks, and ranks of a node follow one another.
  bool is_regular() const;
  /// "8 ranks on 2 nodes, 4 each, in blocks"
  std::string describe() const;

 private:
  std::vector<int> node_of_, domain_of_;
  std::vector<std::vector<int>> ranks_on_;
};

}  // namespace tailrace
