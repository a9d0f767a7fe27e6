// SPDX-License-Identifier: BSD-3-Clause
// Inside a node first, then one message a pair of nodes. Ranks of a node share a window. A block
// for a rank of the same node is read where it was written. A block for another node is written
// straight into the message of a leader, who sends it when all ranks of the node have written
// theirs; at the other end readers take it straight from the message. So nothing is copied that
// `alltoallv` would not copy, and (ranks a node)^2 messages become one. Leaders of a node's
// messages are its ranks in turn, those of different memory domains first. Cost for N nodes of q
// ranks and n bytes per rank: (N - 1) / q alpha + n beta, and three arrivals on the node.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "core/round_up.hpp"
#include "core/same_on_all.hpp"
#include "move/arrivals.hpp"
#include "move/blocks/runner.hpp"
#include "move/messages.hpp"

namespace tailrace {

namespace node_aware {

namespace {

using Numbers = std::vector<std::int64_t>;

/// Sums of the entries of the node's ranks before this one, and of all of them.
struct NodeSums {
  NodeSums(const Comm& node, Numbers own) : before(own.size()), total(own.size()) {
    const int count = to_int(std::ssize(own));
    check_mpi(MPI_Exscan(own.data(), before.data(), count, MPI_INT64_T, MPI_SUM, node.raw()));
    check_mpi(MPI_Allreduce(own.data(), total.data(), count, MPI_INT64_T, MPI_SUM, node.raw()));
    if (node.rank() == 0) std::ranges::fill(before, 0);  // MPI leaves it undefined there
  }
  Numbers before, total;
};

std::int64_t& entry(Numbers& numbers, std::ptrdiff_t piece, int width, int column) {
  return numbers[static_cast<std::size_t>(piece * width + column)];
}

/// Places of the ranks of `node` (in `ranks_on`) in the order in which they lead messages: in turn
/// from each of its memory domains. Local.
std::vector<int> leaders_in_turn(const NodeMap& nodes, int node) {
  const auto ranks = nodes.ranks_on(node);
  std::vector<std::pair<int, int>> turns;  // how many of the same domain come before; place
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto same =
        std::count_if(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](int rank) { return nodes.domain_of(rank) == nodes.domain_of(ranks[i]); });
    turns.emplace_back(static_cast<int>(same), static_cast<int>(i));
  }
  std::ranges::sort(turns);
  std::vector<int> places;
  for (const auto& turn : turns) places.push_back(turn.second);
  return places;
}

/// The place of the rank of `node` that leads its messages to and from node `other`. Local.
int leader_for(const NodeMap& nodes, int node, int other) {
  const auto places = leaders_in_turn(nodes, node);
  const auto turn = (other - node + nodes.num_nodes()) % nodes.num_nodes() - 1;
  return places[static_cast<std::size_t>(turn) % places.size()];
}

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
  Places(const BlockProblem& problem, const Comm& node) : num_pieces(problem.shape.num_pieces()) {
    const auto& nodes = problem.machine.nodes;
    const auto& shape = problem.shape;
    const int num_ranks = problem.comm.num_ranks();
    const int num_nodes = nodes.num_nodes();
    own_node = nodes.node_of(problem.comm.rank());

    // What goes where, in items: to each node, and from each rank.
    Numbers to_node(static_cast<std::size_t>(num_pieces * num_nodes));
    Numbers from_rank(static_cast<std::size_t>(num_pieces * num_ranks));
    for (std::ptrdiff_t p = 0; p < num_pieces; ++p) {
      for (int peer = 0; peer < num_ranks; ++peer) {
        if (nodes.node_of(peer) == own_node) continue;
        entry(to_node, p, num_nodes, nodes.node_of(peer)) += block_items(shape.send, p, peer);
        entry(from_rank, p, num_ranks, peer) = block_items(shape.receive, p, peer);
      }
    }
    NodeSums out(node, to_node);
    NodeSums in(node, from_rank);

    // The segment of each rank: flags, blocks for its own node, messages that it leads.
    std::ptrdiff_t end = head_bytes(num_pieces, num_nodes);
    const auto item = shape.item_bytes;
    send.assign(static_cast<std::size_t>(num_pieces * num_ranks), {});
    receive = send;
    for (std::ptrdiff_t p = 0; p < num_pieces; ++p) {
      for (const int peer : nodes.ranks_on(own_node)) {
        place(send, p, num_ranks, peer) = {node.rank(), end};
        end += round_up(block_items(shape.send, p, peer) * item, line_bytes);
      }
    }
    auto ends = gather_from_all(node, end);
    for (std::ptrdiff_t p = 0; p < num_pieces; ++p) {
      for (int other = 0; other < num_nodes; ++other) {
        if (other == own_node) continue;
        const int leader = leader_for(nodes, own_node, other);
        auto& leader_end = ends[static_cast<std::size_t>(leader)];
        // Going out: rank after rank of this node, each with its blocks in order of the receivers.
        const auto out_items = entry(out.total, p, num_nodes, other);
        auto next = leader_end + entry(out.before, p, num_nodes, other) * item;
        for (const int peer : nodes.ranks_on(other)) {
          place(send, p, num_ranks, peer) = {leader, next};
          next += block_items(shape.send, p, peer) * item;
        }
        Message message{other, p, leader_end, out_items, 0, 0, 0};
        leader_end += round_up(out_items * item, line_bytes);
        // Coming in: the same order, seen from the other side.
        message.in_offset = next = leader_end;
        for (const int peer : nodes.ranks_on(other)) {
          place(receive, p, num_ranks, peer) = {leader,
                                                next + entry(in.before, p, num_ranks, peer) * item};
          next += entry(in.total, p, num_ranks, peer) * item;
          message.in_items += entry(in.total, p, num_ranks, peer);
        }
        leader_end += round_up(message.in_items * item, line_bytes);
        message.peer =
            nodes.ranks_on(other)[static_cast<std::size_t>(leader_for(nodes, other, own_node))];
        if (message.in_items > 0) ++incoming_[static_cast<std::size_t>(p)];
        if (leader == node.rank()) messages.push_back(message);
      }
    }
    segment_bytes = ends[static_cast<std::size_t>(node.rank())];
    share_direct(problem, node);
  }

  /// Bytes of the flags at the start of each segment.
  static std::ptrdiff_t head_bytes(std::ptrdiff_t num_pieces, int num_nodes) {
    return static_cast<std::ptrdiff_t>(sizeof(Arrivals)) * (1 + 2 * num_pieces) +
           static_cast<std::ptrdiff_t>(sizeof(SequenceFlag)) * num_pieces * num_nodes;
  }

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

  void share_direct(const BlockProblem& problem, const Comm& node) {
    const int num_ranks = problem.comm.num_ranks();
    const auto ranks = problem.machine.nodes.ranks_on(own_node);
    Numbers mine(ranks.size());
    Numbers theirs(ranks.size());
    for (std::ptrdiff_t p = 0; p < num_pieces; ++p) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        mine[i] = place(send, p, num_ranks, ranks[i]).offset;
      }
      check_mpi(
          MPI_Alltoall(mine.data(), 1, MPI_INT64_T, theirs.data(), 1, MPI_INT64_T, node.raw()));
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        place(receive, p, num_ranks, ranks[i]) = {static_cast<int>(i), theirs[i]};
      }
    }
  }

  std::vector<int> incoming_ = std::vector<int>(static_cast<std::size_t>(num_pieces));
};

}  // namespace

}  // namespace node_aware

namespace {

using node_aware::Message;
using node_aware::Place;

class NodeAware : public BlockRunner {
 public:
  explicit NodeAware(const BlockProblem& problem)
      : comm_(problem.comm),
        shape_(problem.shape),
        node_(problem.comm.node()),
        waiting_(problem.machine.waiting),
        nodes_(problem.machine.nodes),
        places_(problem, node_),
        item_(contiguous_type(problem.shape.item_bytes)),
        window_(comm_, node_, places_.segment_bytes),
        bytes_(places_.segment_bytes),
        pieces_(static_cast<std::size_t>(places_.num_pieces)) {
    for (const auto& message : places_.messages) {
      auto& piece = pieces_[static_cast<std::size_t>(message.piece)];
      piece.messages.push_back(message);
      piece.sends.push_back(MPI_REQUEST_NULL);
      piece.receives.push_back(MPI_REQUEST_NULL);
    }
  }
  ~NodeAware() override {
    for (auto& piece : pieces_) {
      end_requests(piece.sends);
      end_requests(piece.receives);
    }
  }

  void acquire() override {
    for (auto& piece : pieces_) wait_for_all(piece.sends, waiting_);
    free_own_once();
    freed().wait(uses_, waiting_, comm_.raw());
    ++uses_;
    is_freed_ = false;
  }
  bool may_acquire() override {
    progress();
    return freed().reached(uses_);
  }
  std::byte* send_block(std::ptrdiff_t piece, int peer) const override {
    return address(places_.send, piece, peer);
  }
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const override {
    return address(places_.receive, piece, peer);
  }
  void start(std::ptrdiff_t piece) override {
    auto& own = pieces_[static_cast<std::size_t>(piece)];
    ++own.starts;
    for (std::size_t i = 0; i < own.messages.size(); ++i) {
      const auto& message = own.messages[i];
      if (message.in_items == 0) continue;
      check_mpi(MPI_Irecv(window_.own() + message.in_offset, to_int(message.in_items), item_.raw(),
                          message.peer, tag(piece), comm_.raw(), &own.receives[i]));
    }
    own.sent = own.messages.empty();
    own.missing = std::ranges::count_if(
        own.messages, [](const Message& message) { return message.in_items > 0; });
    written(piece).arrive(node_.num_ranks());
    send_if_written(piece);
  }
  void progress() override {
    for (std::ptrdiff_t p = 0; p < places_.num_pieces; ++p) {
      auto& own = pieces_[static_cast<std::size_t>(p)];
      send_if_written(p);
      while (own.missing > 0) {
        int index = MPI_UNDEFINED;
        int done = 0;
        check_mpi(MPI_Testany(to_int(std::ssize(own.receives)), own.receives.data(), &index, &done,
                              MPI_STATUS_IGNORE));
        if (done == 0) break;
        tell_arrived(p, index);
      }
    }
    if (is_released_) free_own_if_sent();
  }
  bool arrived(std::ptrdiff_t piece, int peer) override {
    if (block_items(shape_.receive, piece, peer) == 0) return true;  // maybe without any message
    const int node = nodes_.node_of(peer);
    const auto starts = pieces_[static_cast<std::size_t>(piece)].starts;
    return node == places_.own_node ? written(piece).reached(starts)
                                    : from_node(piece, node).reached(starts);
  }
  bool served(std::ptrdiff_t piece) override {
    const auto& own = pieces_[static_cast<std::size_t>(piece)];
    return own.sent && own.missing == 0 && written(piece).reached(own.starts) &&
           (places_.incoming_of(piece) == 0 || complete(piece).reached(own.starts));
  }
  void wait(std::ptrdiff_t piece) override {
    auto& own = pieces_[static_cast<std::size_t>(piece)];
    written(piece).wait(own.starts, waiting_, comm_.raw());
    send_if_written(piece);
    while (own.missing > 0) tell_arrived(piece, wait_for_any(own.receives, waiting_));
    if (places_.incoming_of(piece) > 0) complete(piece).wait(own.starts, waiting_, comm_.raw());
  }
  void release() override {
    is_released_ = true;
    free_own_if_sent();
  }
  std::ptrdiff_t buffer_bytes() const override { return bytes_; }

 private:
  /// What this rank leads of one piece.
  struct Piece {
    std::vector<Message> messages;
    std::vector<MPI_Request> sends, receives;
    std::uint32_t starts = 0;    // a caller may leave pieces out of a use
    bool sent = true;            // all its messages are under way
    std::ptrdiff_t missing = 0;  // messages to arrive
  };

  static int tag(std::ptrdiff_t piece) { return static_cast<int>(piece % 30000); }

  // The flags of the node are in the segment of its first rank.
  Arrivals* counters() const { return reinterpret_cast<Arrivals*>(window_.segment(0)); }
  Arrivals& freed() const { return counters()[0]; }
  Arrivals& written(std::ptrdiff_t piece) const { return counters()[1 + piece]; }
  Arrivals& complete(std::ptrdiff_t piece) const {
    return counters()[1 + places_.num_pieces + piece];
  }
  SequenceFlag& from_node(std::ptrdiff_t piece, int node) const {
    auto* flags = reinterpret_cast<SequenceFlag*>(counters() + 1 + 2 * places_.num_pieces);
    return flags[piece * nodes_.num_nodes() + node];
  }
  std::byte* address(const std::vector<Place>& places, std::ptrdiff_t piece, int peer) const {
    const auto& at = places[static_cast<std::size_t>(piece * comm_.num_ranks() + peer)];
    return window_.segment(at.owner) + at.offset;
  }

  void send_if_written(std::ptrdiff_t piece) {
    auto& own = pieces_[static_cast<std::size_t>(piece)];
    if (own.sent || !written(piece).reached(own.starts)) return;
    own.sent = true;
    for (std::size_t i = 0; i < own.messages.size(); ++i) {
      const auto& message = own.messages[i];
      if (message.out_items == 0) continue;
      check_mpi(MPI_Isend(window_.own() + message.out_offset, to_int(message.out_items),
                          item_.raw(), message.peer, tag(piece), comm_.raw(), &own.sends[i]));
    }
  }
  void tell_arrived(std::ptrdiff_t piece, int index) {
    auto& own = pieces_[static_cast<std::size_t>(piece)];
    --own.missing;
    from_node(piece, own.messages[static_cast<std::size_t>(index)].node).publish(own.starts);
    complete(piece).arrive(places_.incoming_of(piece));
  }
  /// This rank has read everything, and its messages have left: its part of the window is free.
  void free_own_if_sent() {
    if (is_freed_) return;
    for (auto& piece : pieces_) {
      int done = 0;
      check_mpi(MPI_Testall(to_int(std::ssize(piece.sends)), piece.sends.data(), &done,
                            MPI_STATUSES_IGNORE));
      if (done == 0) return;
    }
    free_own_once();
  }
  void free_own_once() {
    if (is_freed_) return;
    is_freed_ = true;
    is_released_ = false;
    freed().arrive(node_.num_ranks());
  }

  const Comm& comm_;
  const BlockShape& shape_;
  Comm node_;
  const WaitPolicy& waiting_;
  const NodeMap& nodes_;
  node_aware::Places places_;
  OwnedType item_;
  NodeWindow window_;
  std::ptrdiff_t bytes_;
  std::vector<Piece> pieces_;
  std::uint32_t uses_ = 0;
  bool is_released_ = false;
  bool is_freed_ = true;  // in the use under way
};

}  // namespace

bool block_node_aware_worth_timing(const BlockProblem& problem) {
  return problem.machine.nodes.most_ranks() > 1;
}

std::unique_ptr<BlockRunner> make_block_node_aware(const BlockProblem& problem) {
  return std::make_unique<NodeAware>(problem);
}

}  // namespace tailrace
