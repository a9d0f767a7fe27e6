// SPDX-License-Identifier: BSD-3-Clause
#include "core/same_on_all.hpp"
#include "move/blocks/runner.hpp"

namespace tailrace {

BlockTable place_blocks(const BlockTable& items, std::ptrdiff_t& end, int skip) {
  BlockTable offsets(items.size());
  for (std::size_t p = 0; p < items.size(); ++p) {
    for (std::size_t peer = 0; peer < items[p].size(); ++peer) {
      offsets[p].push_back(end);
      if (static_cast<int>(peer) != skip) end += items[p][peer];
    }
  }
  return offsets;
}

BlockBuffers::BlockBuffers(const BlockShape& shape, const Comm& comm)
    : item_bytes_(shape.item_bytes), rank_(comm.rank()) {
  std::ptrdiff_t end = 0;
  send_offsets_ = place_blocks(shape.send, end, -1);
  receive_start_ = ++end;  // equal addresses would be taken for MPI_IN_PLACE by Open MPI
  receive_offsets_ = place_blocks(shape.receive, end, rank_);
  buffer_ = agreed_buffer(comm, end * item_bytes_);
}

std::byte* BlockBuffers::send_block(std::ptrdiff_t piece, int peer) const {
  return buffer_.data() + send_offset(piece, peer) * item_bytes_;
}

std::byte* BlockBuffers::receive_block(std::ptrdiff_t piece, int peer) const {
  if (peer == rank_) return send_block(piece, peer);
  return receives() + receive_offset(piece, peer) * item_bytes_;
}

std::ptrdiff_t BlockBuffers::send_offset(std::ptrdiff_t piece, int peer) const {
  return block_items(send_offsets_, piece, peer);
}

std::ptrdiff_t BlockBuffers::receive_offset(std::ptrdiff_t piece, int peer) const {
  return block_items(receive_offsets_, piece, peer) - receive_start_;
}

}  // namespace tailrace
