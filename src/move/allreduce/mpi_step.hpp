// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <mpi.h>

#include "move/allreduce/reducer.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace {

/// A collective operation of MPI's on (part of) a task. `at_once`: the blocking call where ranks
/// may wait inside MPI; it has then completed. Otherwise it is under way until `advance` says so.
/// All ranks that take part choose alike.
class MpiStep {
 public:
  explicit MpiStep(const WaitPolicy& waiting) : waiting_(waiting) {}

  void allreduce(const ReductionTask& task, const Comm& comm, bool at_once);
  /// To `task.root` of `comm`.
  void reduce(const ReductionTask& task, const Comm& comm, bool at_once);
  void barrier(const Comm& comm, bool at_once);
  /// `task.out` of rank 0 of `comm` to the others.
  void broadcast(const ReductionTask& task, const Comm& comm, bool at_once);
  /// `task.out`, to or from a rank of `comm`.
  void send(const ReductionTask& task, int peer, const Comm& comm);
  void receive(const ReductionTask& task, int peer, const Comm& comm);
  /// Does what the kind of task asks for.
  void start(const ReductionTask& task, const Comm& comm, bool at_once);

  /// True when it has completed; waits for that if it may.
  bool advance(bool may_wait);

 private:
  bool inside(bool at_once) const { return at_once && waiting_.inside_mpi; }

  const WaitPolicy& waiting_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// The ranks of one's node, and the first ranks of all nodes, which speak for them.
struct NodeGroup {
  /// Collective, blocking.
  NodeGroup(const Comm& comm, const NodeMap& nodes)
      : node(comm.split(nodes.node_of(comm.rank()))), num_nodes(nodes.num_nodes()) {
    if (!lone()) leaders.emplace(comm.split(node.rank() == 0 ? 0 : 1));
  }

  bool leads() const { return node.rank() == 0; }
  bool lone() const { return num_nodes == 1; }

  Comm node;
  /// The rank is the node's number; of no use to ranks that do not lead. None of a lone node.
  std::optional<Comm> leaders;
  int num_nodes;
};

}  // namespace tailrace
