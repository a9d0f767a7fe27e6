// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/node_array.hpp"

#include <cassert>
#include <vector>

#include "core/same_on_all.hpp"
#include "core/world_ranks.hpp"
#include "move/node_window.hpp"

namespace tailrace {

struct NodeArray::State {
  NodeWindow window;
  std::vector<std::byte*> segments;  ///< of each rank
  std::vector<int> world_ranks;
  std::ptrdiff_t num_bytes = 0;
  int rank = 0;
};

NodeArray::NodeArray(const Comm& comm, std::ptrdiff_t num_bytes) {
  require_all(comm.raw(), num_bytes >= 0, "NodeArray: num_bytes must not be negative");
  auto state = std::make_shared<State>();
  const Comm& node = comm.node();
  state->window = NodeWindow(comm, node, num_bytes);
  const auto ranks = gather_from_all(node, comm.rank());
  state->segments.resize(static_cast<std::size_t>(comm.num_ranks()));
  for (int i = 0; i < node.num_ranks(); ++i) {
    state->segments[static_cast<std::size_t>(ranks[static_cast<std::size_t>(i)])] =
        state->window.segment(i);
  }
  state->world_ranks = world_ranks_of(comm);
  state->num_bytes = num_bytes;
  state->rank = comm.rank();
  state_ = std::move(state);
}

std::byte* NodeArray::data() const { return state_ == nullptr ? nullptr : data_of(state_->rank); }
std::ptrdiff_t NodeArray::num_bytes() const { return state_ == nullptr ? 0 : state_->num_bytes; }
const std::vector<int>& NodeArray::world_ranks() const {
  static const std::vector<int> none;
  return state_ == nullptr ? none : state_->world_ranks;
}
std::byte* NodeArray::data_of(int rank) const {
  assert(state_ != nullptr);
  return state_->segments[static_cast<std::size_t>(rank)];
}

}  // namespace tailrace
