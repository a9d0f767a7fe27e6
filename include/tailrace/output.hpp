// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tailrace/comm.hpp"
#include "tailrace/more/file_contents.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/more/output_statistics.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {

/// When the bytes leave: `synchronous` writes inside `write`; `hidden` copies to a staging buffer
/// and lets a background thread of each writer rank do the rest while the caller computes.
enum class OutputMode { synchronous, hidden };

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
  int buffered_files = 2;                 ///< files that may be under way before `write` waits
  /// How data moves to the writers: a name of `move_methods()`, "push" (all ranks on one node: each
  /// rank copies its items straight into the writers' staging buffers, in one pass) or "auto" (push
  /// where it applies, else what measures best, see more/tune.hpp).
  std::string method = "auto";
  bool checksums = true;   ///< xxHash of each piece, kept in the file
  Trace* trace = nullptr;  ///< not owned
};

/// Writes plain HDF5 files (contiguous datasets, NetCDF-4 dimension scales) that h5py, xarray and
/// ParaView read: one rank writes the metadata, the writer ranks put the data into the dataset's
/// extent with `pwrite`. A file grows under `PATH.partial`, is flushed and checksummed, and gets
/// its final name last, so `PATH` is either absent, the previous complete file, or the new one.
class Output {
 public:
  /// Collective, blocking. Throws `Errc::invalid_input` on all ranks for options out of range.
  Output(const Comm& comm, OutputOptions options);
  /// Waits for files under way; errors found now are only said (`set_line_handler`), so call
  /// `finish` first. Collective, blocking.
  ~Output();
  Output(Output&&) noexcept;

  /// Writes `contents` to `path`. When it returns, the caller's arrays may be changed. Shapes must
  /// be the same from call to call for buffers to be reused. Waits if `buffered_files` are under
  /// way. Throws on all ranks the same `Errc::io` (errno, rank, path, step) for this file
  /// (synchronous) or for an earlier one (hidden: then nothing of `contents` has been written, and
  /// the call may be repeated). The `Output` stays usable. Collective, blocking for the copy only
  /// if hidden.
  void write(const std::string& path, const FileContents& contents);
  /// Waits until every file has its final name; throws like `write`. Collective, blocking.
  void finish();
  /// Lets files under way get their final names as soon as all writers are done, rather than at the
  /// next `write` or `finish`. Cheap; call it once a step, on all ranks. Never waits, never throws
  /// for a failed file (the next `write` or `finish` does). Local.
  void progress();
  OutputStatistics statistics() const;
  /// Path of the last file known on all ranks to be complete, or "".
  const std::string& last_complete() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
