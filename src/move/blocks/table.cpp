// SPDX-License-Identifier: BSD-3-Clause
// The table of methods that move packed blocks. Adding one: its file, its declarations in
// runner.hpp, a line here, a line in CMakeLists.txt. Tests, tuner, benchmarks and `tailrace list`
// walk this table.

#include <array>

#include "core/method_table.hpp"
#include "core/same_on_all.hpp"
#include "move/block_exchange.hpp"
#include "move/blocks/runner.hpp"

namespace tailrace {
namespace {

bool always(const BlockProblem&) { return true; }
// The tuner leaves it out: a trial starts a runtime that stays until the end of the job.
bool never(const BlockProblem&) { return false; }

constexpr std::array methods{
    BlockMethod{"alltoallv", "MPI_Ialltoallv; the reference", "always", "", "", always, always,
                make_block_alltoallv},
    BlockMethod{"alltoallw", "MPI_Ialltoallw", "blocks of one rank below 2 GiB in all", "", "",
                always, always, make_block_alltoallw},
    BlockMethod{"pairwise", "one message per pair, staggered, a bounded number in flight", "always",
                "in_flight", "pairwise:in_flight=4 pairwise:in_flight=64", always, always,
                make_block_pairwise},
    BlockMethod{"bruck", "all blocks that share a hop of 1, 2, 4, ... ranks in one message",
                "always; made for tiny blocks", "", "", always, block_bruck_worth_timing,
                make_block_bruck},
    BlockMethod{"pull", "one-sided reads of chunks in a random order of each rank's own",
                "windows of these ranks work", "chunk, depth",
                "pull:chunk=512 pull:chunk=1M,depth=4", block_pull_applies, always,
                make_block_pull},
    BlockMethod{"caf", "pull in coarray Fortran",
                "OpenCoarrays built in; all ranks of the job, or one", "chunk", "",
                block_caf_applies, never, make_block_caf},
    BlockMethod{"node_aware", "inside the node first, then one message per pair of nodes",
                "always; made for several nodes with several ranks", "", "", always,
                block_node_aware_worth_timing, make_block_node_aware},
    BlockMethod{"node_direct", "readers load from the writer's shared memory",
                "all ranks share a node", "", "", block_node_direct_applies, always,
                make_block_node_direct},
};

constexpr auto infos = method_infos(methods);

}  // namespace

std::span<const MethodInfo> block_methods() { return infos; }
std::span<const BlockMethod> block_method_table() { return methods; }

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
