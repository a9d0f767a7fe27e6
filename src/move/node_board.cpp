// SPDX-License-Identifier: BSD-3-Clause
#include "core/round_up.hpp"
#include "move/arrivals.hpp"

namespace tailrace {
namespace {

constexpr std::ptrdiff_t head_bytes = round_up(sizeof(Arrivals), line_bytes);

}  // namespace

NodeBoard::NodeBoard(const Comm& node, const WaitPolicy& waiting, std::ptrdiff_t bytes)
    : node_(node),
      waiting_(waiting),
      bytes_(round_up(bytes, line_bytes)),
      window_(node, 2 * bytes_ + (node.rank() == 0 ? head_bytes : 0)),
      written_(reinterpret_cast<Arrivals*>(window_.segment(0))) {
  for (int rank = 0; rank < node.num_ranks(); ++rank) {
    auto* first = window_.segment(rank) + (rank == 0 ? head_bytes : 0);
    places_[0].push_back(first);
    places_[1].push_back(first + bytes_);
  }
}

// Whoever writes for round n has met all in round n - 1, and they had then read round n - 2.
void NodeBoard::meet() {
  written_->arrive(node_.num_ranks());
  ++round_;
  written_->wait(round_, waiting_, node_.raw());
}

}  // namespace tailrace
