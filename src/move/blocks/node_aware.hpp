// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "move/arrivals.hpp"
#include "move/blocks/runner.hpp"

namespace tailrace::node_aware {

/// Places of the ranks of `node` (in `ranks_on`) in the order in which they lead messages: in turn
/// from each of its memory domains. Local.
std::vector<int> leaders_in_turn(const NodeMap& nodes, int node);
/// The place of the rank of `node` that leads its messages to and from node `other`. Local.
int leader_for(const NodeMap& nodes, int node, int other);

/// Where a block lies: in whose segment of the node's window, and at which byte of it.
struct Place {
  int owner = 0;
  std::ptrdiff_t offset = 0;
};

/// A pair of messages, out and in, between this node and another, in the segment of its leader.
struct Message {
  int node = 0;  ///< the other one
  std::ptrdiff_t piece = 0;
  std::ptrdiff_t out_offset = 0, out_items = 0;
  std::ptrdiff_t in_offset = 0, in_items = 0;
  int peer = 0;  ///< the other node's leader, a rank of the communicator
};

/// Where everything lies in the windows of the nodes, worked out without a table of all pairs.
struct Places {
  /// Collective over `node`, blocking.
  Places(const BlockProblem& problem, const Comm& node);

  /// Bytes of the flags at the start of each segment.
  static std::ptrdiff_t head_bytes(std::ptrdiff_t num_pieces, int num_nodes);
  /// Messages of `piece` that arrive at this node.
  int incoming_of(std::ptrdiff_t piece) const { return incoming_[static_cast<std::size_t>(piece)]; }

  std::ptrdiff_t num_pieces;
  int own_node = 0;
  std::ptrdiff_t segment_bytes = 0;  ///< of this rank
  std::vector<Place> send, receive;  ///< [piece * ranks + peer]
  std::vector<Message> messages;     ///< that this rank leads

 private:
  static Place& place(std::vector<Place>& places, std::ptrdiff_t piece, int num_ranks, int peer) {
    return places[static_cast<std::size_t>(piece * num_ranks + peer)];
  }
  void share_direct(const BlockProblem& problem, const Comm& node);

  std::vector<int> incoming_ = std::vector<int>(static_cast<std::size_t>(num_pieces));
};

}  // namespace tailrace::node_aware
