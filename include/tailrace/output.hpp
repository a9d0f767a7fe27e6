// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "tailrace/comm.hpp"
#include "tailrace/more/file_contents.hpp"
#include "tailrace/more/output_options.hpp"
#include "tailrace/more/output_statistics.hpp"

namespace tailrace {

class Session;

/// The outcome of a step.
enum class WriteResult { staged, written, dropped, lowered, spilled };

/// Writes files of named arrays while the program computes: plain HDF5 (contiguous datasets,
/// NetCDF-4 dimension scales) that h5py, xarray and ParaView read, or Zarr stores (a path that ends
/// in ".zarr"). A file grows under `PATH.partial`, is flushed and checksummed, and gets its final
/// name last, so `PATH` is either absent, the previous complete file, or the new one.
///
///     tailrace::Output output(comm);  // hidden; {.servers = "thread"}: a server thread per node
///     output.write("u.h5", {.variables = {{"u", layout, u}}});
///
/// Ranks that do nothing but serve are split off by a `Session`, which opens outputs.
class Output {
 public:
  /// Throws `Errc::invalid_input` on all ranks for options out of range, `Errc::io` if a server
  /// cannot be started. Collective, blocking.
  explicit Output(const Comm& comm, OutputOptions options = {});
  /// Waits for unfinished files; errors found now are only printed (`set_line_handler`), so call
  /// `finish` first. Of a session: the session does so. Collective, blocking.
  ~Output();
  Output(Output&&) noexcept;

  /// Hands over `contents`, to be written to `path`. When it returns, the caller's arrays may be
  /// changed. Layouts may differ from call to call; where they do not, buffers are reused. Throws
  /// on all ranks the same error: one of these arguments, or (`OnFailure::stop`) `Errc::io` of this
  /// file ("none") or of an earlier one, with errno, rank, path and step; then nothing of
  /// `contents` has been taken, and the call may be repeated. Collective over the ranks that
  /// compute; blocking for the copy, and as `when_full` says.
  WriteResult write(const std::string& path, const FileContents& contents);
  /// Waits until every file has its final name; throws like `write`. MPI_Finalize does the same for
  /// a program that forgot, and prints that and errors. Collective, blocking.
  void finish();
  /// Gives files their final names as soon as all writers are done, and moves data on where the
  /// transport needs help, rather than at the next `write` or `finish`. Cheap; call it once per
  /// step, on all ranks. Never waits, never throws for a failed file (the next `write` or `finish`
  /// does). Local.
  void progress();
  OutputStatistics statistics() const;
  /// Path of the last file known on this rank to be complete, or "". Local.
  const std::string& last_complete() const;
  /// Who writes, and why. Local.
  const std::string& describe() const;

  class State;

 private:
  friend class Session;
  explicit Output(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
  std::unique_ptr<Session> own_;  ///< of an output that no other session opened
};

}  // namespace tailrace
