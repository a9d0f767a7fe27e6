// SPDX-License-Identifier: BSD-3-Clause
// The table of strategies. Adding one: its file, its declaration in strategy.hpp, a line here, a
// line in CMakeLists.txt. Tests, benchmarks and `tailrace list` walk this table.
#include <unistd.h>

#include <array>

#include "core/method_table.hpp"
#include "file/strategy.hpp"
#if TAILRACE_MPI_IO
#include "file_back_ends/entries.hpp"
#endif

namespace tailrace::file {
namespace {

bool on_plain_files(const BackEndEntry& back_end) { return back_end.name != "hdf5"; }
bool on_system_calls(const BackEndEntry& back_end) { return !back_end.has_collective; }
bool on_any(const BackEndEntry&) { return true; }

constexpr std::array strategies {
  StrategyEntry{"spokesperson", "rank 0 gathers everything and writes it (the reference)",
                "back ends of plain files", on_plain_files, make_spokesperson},
      StrategyEntry{"shared_independent", "every rank writes its pieces to the shared file",
                    "always", on_any, make_shared_independent},
      StrategyEntry{"collective",
                    "two-phase: some ranks write large stripe-aligned pieces on behalf of all "
                    "(cb_nodes, cb_align)",
                    "back ends of plain files", on_plain_files, make_collective},
      StrategyEntry{"grouped",
                    "the first rank of each group (group_size) writes on behalf of its group",
                    "back ends of plain files", on_plain_files, make_grouped},
      StrategyEntry{"by_length",
                    "long pieces as shared_independent, short ones as collective "
                    "(cb_longest_piece)",
                    "posix and uring", on_system_calls, make_by_length},
#if TAILRACE_MPI_IO
      library_collective_entry,
#endif
};

constexpr auto infos = method_infos(strategies);

}  // namespace

std::span<const StrategyEntry> strategy_table() { return strategies; }

void make_file(const StrategyRequest& request, bool makes) {
  run_agreed(request.comm.raw(), [&] {
    const bool update = request.access == FileAccess::update;
    const bool keep = !makes || (update && ::access(request.path.c_str(), F_OK) == 0);
    if (!keep) create_file(request.path, request.settings);
  });
}

}  // namespace tailrace::file

namespace tailrace {

std::span<const MethodInfo> file_strategies() { return file::infos; }

}  // namespace tailrace
