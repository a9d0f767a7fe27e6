// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "tailrace/more/hints.hpp"

namespace tailrace {

class Trace;

/// When the bytes leave: `synchronous` writes inside `write`; `hidden` copies to a staging buffer
/// and lets a background thread of each writer rank do the rest while the caller computes.
enum class OutputMode { synchronous, hidden };

/// What `OutputOptions::strategy` may be.
inline constexpr std::array<std::string_view, 6> output_strategies{
    "auto", "spokesperson", "collective", "shared_independent", "grouped", "file_per_rank"};

struct OutputOptions {
  OutputMode mode = OutputMode::hidden;
  /// Who writes what: "spokesperson" (rank 0 everything), "collective" (`writers` long runs of the
  /// file), "shared_independent" (each rank its own rows), "grouped" (the first rank of each group
  /// its group's rows), "file_per_rank" (pieces in PATH.pieces/, and PATH shows them as one) or
  /// "auto" (collective). docs/files.md says when which.
  std::string strategy = "auto";
  /// Settings by their names (`hint_table()`): cb_nodes, cb_align, striping_unit, group_size,
  /// direct_io, sync, ... They override the numbers below, and `TAILRACE_HINTS` overrides them.
  Hints hints = {};
  int writers = 0;                        ///< writer ranks; 0 = up to 4 per node (docs/files.md)
  std::ptrdiff_t stripe_bytes = 1 << 20;  ///< file domains end at multiples of it (a multiple of
                                          ///< 8), unless the file system has stripes; 0 = even
                                          ///< shares
  int buffered_files = 2;                 ///< files that may be unfinished before `write` waits
  /// How data moves to the writers: a name of `move_methods()`, "push" (all ranks on one node: each
  /// rank copies its items straight into the writers' staging buffers, in one pass) or "auto" (push
  /// where it applies, else what measures best, see more/tune.hpp).
  std::string method = "auto";
  bool checksums = true;   ///< xxHash of each piece, kept in the file
  Trace* trace = nullptr;  ///< not owned
};

}  // namespace tailrace
