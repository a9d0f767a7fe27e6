// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/node_array.hpp"

#include <cassert>
#include <vector>

#include "move/node_window.hpp"

namespace tailrace {

struct NodeArray::State {
  NodeWindow window;
  std::vector<std::byte*> segments;  ///< of each rank
  std::ptrdiff_t num_bytes = 0;
  int rank = 0;
};

NodeArray::NodeArray(const Comm& comm, std::ptrdiff_t num_bytes) {
  require_all(comm.raw(), num_bytes >= 0, "NodeArray: num_bytes must not be negative");
  const bool one_node = comm.node().num_ranks() == comm.num_ranks();
  require_all(comm.raw(), one_node, "NodeArray: the ranks of the communicator do not share a node");
  auto state = std::make_shared<State>();
  state->window = NodeWindow(comm, num_bytes);
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    state->segments.push_back(state->window.segment(rank));
  }
  state->num_bytes = num_bytes;
  state->rank = comm.rank();
  state_ = std::move(state);
}

std::byte* NodeArray::data() const { return data_of(state_->rank); }
std::ptrdiff_t NodeArray::num_bytes() const { return state_->num_bytes; }
std::byte* NodeArray::data_of(int rank) const {
  assert(state_ != nullptr);
  return state_->segments[static_cast<std::size_t>(rank)];
}

}  // namespace tailrace
