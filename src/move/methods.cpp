// SPDX-License-Identifier: BSD-3-Clause
// The table of methods, of arrays and of packed blocks. To add one: its file, its functions in
// method.hpp or blocks/runner.hpp, a line here and in CMakeLists.txt (CONTRIBUTING.md). Tests,
// tuner, benchmarks and `tailrace list` use this table.
#include <algorithm>
#include <array>

#include "core/method_table.hpp"
#include "move/block_exchange.hpp"
#include "move/method.hpp"

namespace tailrace {

namespace {

// The tuner leaves it out: a trial starts a runtime that stays until the end of the job.
bool never(const BlockProblem&) { return false; }

constexpr ArrayMethod packed;

constexpr std::array methods{
    MoveMethod{"alltoallv", "MPI_Ialltoallv of packed blocks (the reference)", "always", packed,
               BlockMethod{always, always, make_block_alltoallv}},
    MoveMethod{"alltoallw", "MPI_Ialltoallw; arrays by derived datatypes, which MPI packs",
               "an MPI that packs datatypes correctly; arrays not in place; less than 2 GiB of "
               "blocks per rank",
               ArrayMethod{true, alltoallw_applies, make_alltoallw},
               BlockMethod{always, always, make_block_alltoallw}},
    MoveMethod{"pairwise",
               "one message per peer, staggered, with a limit on messages in flight; packing "
               "overlaps with sending",
               "always", packed, BlockMethod{always, always, make_block_pairwise},
               "pairwise:in_flight=4 pairwise:in_flight=64"},
    MoveMethod{
        "bruck",
        "combines all blocks that travel the same distance (1, 2, 4, ... ranks) into one message",
        "always; intended for tiny messages", packed,
        BlockMethod{always, block_bruck_worth_timing, make_block_bruck}},
    MoveMethod{"pull", "one-sided reads of chunks, in a different random order on each rank",
               "MPI can create windows for these ranks", packed,
               BlockMethod{block_pull_applies, always, make_block_pull},
               "pull:chunk=512 pull:chunk=1M,depth=4"},
    MoveMethod{"caf", "like pull, in coarray Fortran",
               "OpenCoarrays built in; all ranks of the job", ArrayMethod{false},
               BlockMethod{block_caf_applies, never, make_block_caf}},
    MoveMethod{"node_aware", "first within each node, then one message per pair of nodes",
               "always; intended for several nodes with several ranks each", packed,
               BlockMethod{always, block_node_aware_worth_timing, make_block_node_aware}},
    MoveMethod{"node_direct",
               "each rank reads its data from the shared memory of the other ranks, in one pass",
               "ranks that exchange share a node",
               ArrayMethod{true, node_direct_applies, make_node_direct},
               BlockMethod{block_node_direct_applies, always, make_block_node_direct}},
    MoveMethod{"contiguous", "MPI_Alltoallv from array to array, without packing",
               "each message is one contiguous run of bytes on both sides; not in place",
               ArrayMethod{true, contiguous_applies, make_contiguous}},
};
constexpr bool moves_blocks(const MoveMethod& method) { return method.blocks.make != nullptr; }
constexpr auto num_block_methods =
    static_cast<std::size_t>(std::ranges::count_if(methods, moves_blocks));
static_assert(std::ranges::is_partitioned(methods, moves_blocks),
              "put methods without a BlockMethod at the end of the table");

constexpr auto infos = method_infos(methods);

}  // namespace

std::span<const MoveMethod> move_method_table() { return methods; }
std::span<const MoveMethod> block_method_table() {
  return std::span(methods).first(num_block_methods);
}
std::span<const MethodInfo> move_methods() { return infos; }
std::span<const MethodInfo> block_methods() { return std::span(infos).first(num_block_methods); }

MoveWork work_of(const MoveProblem& problem) {
  MoveWork work;
  const auto scale = problem.shape.item_bytes * problem.shape.num_fields;
  for (const auto& [peer, bytes] : problem.plan.bytes(scale)) {
    if (peer == problem.plan.rank()) {
      work.kept_bytes = bytes;
    } else {
      work.sent_bytes += bytes;
      ++work.num_peers;
    }
  }
  for (const auto& piece : problem.plan.receives()) {
    if (piece.peer != problem.plan.rank()) work.received_bytes += piece.box.num_items() * scale;
  }
  return work;
}

}  // namespace tailrace
