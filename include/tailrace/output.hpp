// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "tailrace/comm.hpp"
#include "tailrace/more/file_contents.hpp"
#include "tailrace/more/output_options.hpp"
#include "tailrace/more/output_statistics.hpp"

namespace tailrace {

/// Writes plain HDF5 files (contiguous datasets, NetCDF-4 dimension scales) that h5py, xarray and
/// ParaView read: one rank writes the metadata, the writer ranks put the data into the dataset's
/// extent with `pwrite`. A path that ends in ".zarr" becomes a Zarr store. A file grows under
/// `PATH.partial`, is flushed and checksummed, and gets its final name last, so `PATH` is either
/// absent, the previous complete file, or the new one.
class Output {
 public:
  /// Hides by default (`OutputMode::hidden`). Throws `Errc::invalid_input` on all ranks for options
  /// out of range. Collective, blocking.
  explicit Output(const Comm& comm, OutputOptions options = {});
  /// Waits for unfinished files; errors found now are only printed (`set_line_handler`), so call
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
  /// Waits until every file has its final name; throws like `write`. MPI_Finalize does the same for
  /// a program that forgot, and prints that and errors. Collective, blocking.
  void finish();
  /// Gives files their final names as soon as all writers are done, rather than at the next `write`
  /// or `finish`. Cheap; call it once per step, on all ranks. Never waits, never throws for a
  /// failed file (the next `write` or `finish` does). Local.
  void progress();
  OutputStatistics statistics() const;
  /// Path of the last file known on this rank to be complete, or "". Local.
  const std::string& last_complete() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
