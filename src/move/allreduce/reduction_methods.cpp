// SPDX-License-Identifier: BSD-3-Clause
// The table of ways to reduce. Adding one: its file, its declaration in reducer.hpp, a line here, a
// line in CMakeLists.txt. Tests, tuner, benchmarks and `tailrace list` walk this table.
#include <algorithm>
#include <array>

#include "core/method_table.hpp"
#include "move/allreduce/reducer.hpp"

namespace tailrace {
namespace {

bool always(const ReductionProblem&) { return true; }
bool on_shared_nodes(const ReductionProblem& problem) {
  return problem.machine.nodes.most_ranks() > 1;
}
bool on_several_shared_nodes(const ReductionProblem& problem) {
  return on_shared_nodes(problem) && !problem.machine.one_node();
}
bool with_threads(const ReductionProblem& problem) {
  return on_shared_nodes(problem) && !problem.machine.facts.simulated;
}

constexpr std::array all_reductions{
    ReductionMethod{"mpi", "MPI_Allreduce, MPI_Reduce, MPI_Barrier (the reference)", "always",
                    always, make_reduction_mpi},
    ReductionMethod{"hierarchical",
                    "reduce inside each node, allreduce between their first ranks, broadcast",
                    "several nodes, some with several ranks", on_several_shared_nodes,
                    make_reduction_hierarchical},
    ReductionMethod{"hierarchical_nonblocking",
                    "the same with non-blocking steps, which the caller's work overlaps",
                    "several nodes, some with several ranks", on_several_shared_nodes,
                    make_reduction_hierarchical_nonblocking},
    ReductionMethod{
        "node_shared",
        "shared memory of the node, one sleeping wait; of long vectors, each rank reduces a slice",
        "at least one node with several ranks", on_shared_nodes, make_reduction_node_shared},
    ReductionMethod{"node_threads",
                    "shared memory of the node; threads of its first rank reduce long vectors",
                    "at least one node with several ranks; not in a simulator", with_threads,
                    make_reduction_node_threads},
};

constexpr auto reduction_infos = method_infos(all_reductions);

}  // namespace

std::span<const ReductionMethod> reduction_method_table() { return all_reductions; }
std::span<const MethodInfo> reduction_methods() { return reduction_infos; }

const ReductionMethod* find_reduction_method(std::string_view name) {
  return find_line(all_reductions, name);
}

void ReductionRunner::combine_parts(NumberType type, ReduceOp op, std::byte* out,
                                    std::span<const std::byte* const> parts,
                                    std::ptrdiff_t num_items) {
  combine(type, op, out, parts, 0, num_items);
}

}  // namespace tailrace
