// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/node_board.hpp"

#include "core/round_up.hpp"
#include "move/arrivals.hpp"
#include "move/surroundings.hpp"

namespace tailrace {
namespace {

constexpr std::ptrdiff_t head_bytes = round_up(sizeof(Arrivals), line_bytes);

}  // namespace

struct NodeBoard::State {
  State(const Comm& ranks, std::ptrdiff_t bytes)
      : node(ranks),
        waiting(Surroundings::agreed(ranks).waiting),
        window(ranks, 2 * bytes + (ranks.rank() == 0 ? head_bytes : 0)),
        written(reinterpret_cast<Arrivals*>(window.segment(0))) {}

  const Comm& node;
  WaitPolicy waiting;
  NodeWindow window;
  Arrivals* written;  ///< in the segment of the first rank
};

NodeBoard::NodeBoard(const Comm& node, std::ptrdiff_t bytes)
    : state_(std::make_unique<State>(node, round_up(bytes, line_bytes))),
      rank_(static_cast<std::size_t>(node.rank())),
      bytes_(round_up(bytes, line_bytes)) {
  for (int rank = 0; rank < node.num_ranks(); ++rank) {
    auto* first = state_->window.segment(rank) + (rank == 0 ? head_bytes : 0);
    places_[0].push_back(first);
    places_[1].push_back(first + bytes_);
  }
}

NodeBoard::~NodeBoard() = default;

// Whoever writes for round n has met all in round n - 1, and they had then read round n - 2.
void NodeBoard::meet() {
  state_->written->arrive(state_->node.num_ranks());
  ++round_;
  state_->written->wait(round_, state_->waiting, state_->node.raw());
}

}  // namespace tailrace
