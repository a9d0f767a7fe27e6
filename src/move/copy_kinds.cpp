// SPDX-License-Identifier: BSD-3-Clause
// The table of ways to touch memory, and which instructions are used for them here. A kind is a
// line here; loops for other instructions are a copy_lines_NAME.cpp and a line in `copy_loops`.
#include "move/copy_kinds.hpp"

#include <array>
#include <vector>

#include "core/method_table.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace {

namespace {

constexpr std::array kinds{
    CopyKind{"ordinary", "through the caches, by ordinary stores (the reference)", Stores::ordinary,
             1, "1 line"},
    CopyKind{"fetched", "the same; lines are prefetched before they are written", Stores::fetched,
             1, "1 line"},
    CopyKind{"fetched2", "the same, 2 lines at a time", Stores::fetched, 2, "2 lines"},
    CopyKind{"fetched4", "the same, 4 lines at a time", Stores::fetched, 4, "4 lines"},
    CopyKind{"fetched8", "the same, 8 lines at a time", Stores::fetched, 8, "8 lines"},
    CopyKind{"streaming", "past the caches, in whole lines, which need not be read first",
             Stores::streaming, 1, "1 line"},
    CopyKind{"streaming2", "the same, 2 lines at a time", Stores::streaming, 2, "2 lines"},
    CopyKind{"streaming4", "the same, 4 lines at a time", Stores::streaming, 4, "4 lines"},
    CopyKind{"streaming8", "the same, 8 lines at a time", Stores::streaming, 8, "8 lines"},
};

std::vector<const CopyLoops*> loops_here() {
  std::vector<const CopyLoops*> loops;
#ifdef TAILRACE_COPY_X86
  if (__builtin_cpu_supports("avx512f")) loops.push_back(&copy_loops_avx512);
  if (__builtin_cpu_supports("avx2")) loops.push_back(&copy_loops_avx2);
#endif
  loops.push_back(&copy_loops_portable);
  return loops;
}

}  // namespace

std::span<const CopyKind> copy_kinds() { return kinds; }
std::vector<MethodInfo> copy_methods() {
  std::vector<MethodInfo> infos;
  for (const auto& kind : kinds) infos.push_back({kind.name, kind.summary, kind.written, true});
  return infos;
}
const CopyKind* find_copy_kind(std::string_view name) { return find_line(kinds, name); }

std::span<const CopyLoops* const> copy_loops() {
  static const auto loops = loops_here();
  return loops;
}

}  // namespace tailrace
