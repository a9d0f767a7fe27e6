// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Which ranks of a communicator share a node. Nodes are numbered by their lowest rank.
///
/// The environment variable TAILRACE_RANKS_PER_NODE=k treats every k ranks of a node (consecutive
/// in MPI_COMM_WORLD, for any communicator) as a separate node: use it to model the sockets of a
/// large node, or to test several nodes on a laptop.
class NodeMap {
 public:
  /// A single rank on one node.
  NodeMap() : NodeMap(std::vector<int>{0}) {}
  /// The actual nodes of `comm`. Collective, blocking.
  explicit NodeMap(const Comm& comm) : NodeMap(comm, comm.node()) {}
  /// The actual nodes of `comm`, if `node`, which is `comm.node()`, has been created already.
  NodeMap(const Comm& comm, const Comm& node);
  /// A map with given numbers: `node_of[rank]` may be any numbers; `domain_of[rank]` is the NUMA
  /// domain of the node in which a rank runs, or empty if unknown. Local.
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
  /// True if all nodes have the same number of ranks and the ranks of each node are consecutive.
  bool is_regular() const;
  /// "8 ranks on 2 nodes, 4 each, in blocks"
  std::string describe() const;

 private:
  std::vector<int> node_of_, domain_of_;
  std::vector<std::vector<int>> ranks_on_;
};

}  // namespace tailrace
