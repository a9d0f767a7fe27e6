// SPDX-License-Identifier: BSD-3-Clause
// The table of methods. Adding one that packs: a method of moving blocks (src/move/blocks/) and a
// line here; another one: its file, its declarations in method.hpp, a line here and in
// CMakeLists.txt. Tests, tuner, benchmarks and `tailrace list` walk this table.
#include <algorithm>
#include <array>

#include "core/method_table.hpp"
#include "move/method.hpp"

namespace tailrace {

namespace {

constexpr std::array methods{
    MoveMethod{"alltoallv", "pack all, MPI_Ialltoallv, unpack all (the reference)", "always", true,
               packed_applies, make_packed},
    MoveMethod{"alltoallw", "derived datatypes and MPI_Ialltoallw: no buffers, MPI packs",
               "arrays that are not exchanged in place; an MPI that packs datatypes as they say",
               true, alltoallw_applies, make_alltoallw},
    MoveMethod{"contiguous", "MPI_Alltoallv from array to array, nothing packed",
               "each message is one run of bytes on both sides; not in place", true,
               contiguous_applies, make_contiguous},
    MoveMethod{"pairwise",
               "one message per peer, staggered, a bounded number in flight; packing overlaps them",
               "always", true, packed_applies, make_packed},
    MoveMethod{"bruck", "all messages that share a hop of 1, 2, 4, ... ranks in one",
               "always; made for tiny messages", true, packed_applies, make_packed},
    MoveMethod{"pull", "one-sided reads of chunks in a random order of each rank's own",
               "MPI can make windows of these ranks", true, packed_applies, make_packed},
    MoveMethod{"caf", "pull in coarray Fortran", "OpenCoarrays built in; all ranks of the job",
               false, packed_applies, make_packed},
    MoveMethod{"node_aware", "inside the node first, then one message per pair of nodes",
               "always; made for several nodes with several ranks", true, packed_applies,
               make_packed},
    MoveMethod{"node_direct", "ranks read each other's arrays in shared memory in one strided pass",
               "ranks that exchange share a node", true, node_direct_applies, make_node_direct},
};

constexpr auto infos = method_infos(methods);

}  // namespace

std::span<const MoveMethod> move_method_table() { return methods; }
std::span<const MethodInfo> move_methods() { return infos; }

const MoveMethod* find_move_method(std::string_view name) { return find_line(methods, name); }

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
