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
/// To use ranks that only serve output, create a `Session` and open outputs with it.
class Output {
 public:
  /// Throws `Errc::invalid_input` on all ranks for options out of range, `Errc::io` if a server
  /// cannot be started. Collective, blocking.
  explicit Output(const Comm& comm, OutputOptions options = {});
  /// Waits for unfinished files; errors found now are only printed (`set_line_handler`), so call
  /// `finish` first. For an output of a session, the session waits. Collective, blocking.
  ~Output();
  Output(Output&&) noexcept;

  /// Submits `contents` to be written to `path`. When it returns, the caller's arrays may be
  /// changed. Layouts may differ from call to call; if they do not, buffers are reused. Throws the
  /// same error on all ranks: for invalid arguments, or (`OnFailure::stop`) `Errc::io` for this
  /// file ("none") or an earlier one, with errno, rank, path and step; then nothing of `contents`
  /// has been written or staged, and the call may be repeated. Collective over the compute ranks;
  /// blocks for the copy, and as `when_full` specifies.
  WriteResult write(const std::string& path, const FileContents& contents);
  /// Waits until every file has its final name; throws like `write`. If a program does not call it,
  /// MPI_Finalize does, and prints a warning and any errors. Collective, blocking.
  void finish();
  /// Renames files whose writers are done, and advances transports that need it, instead of leaving
  /// both to the next `write` or `finish`. Cheap; call it once per step on all ranks. Never waits,
  /// and never throws for a failed file (the next `write` or `finish` does). Local.
  void progress();
  OutputStatistics statistics() const;
  /// Path of the last file known on this rank to be complete, or "". Local.
  const std::string& last_complete() const;
  /// Which threads, processes or ranks write, and why. Local.
  const std::string& describe() const;

  class State;

 private:
  friend class Session;
  explicit Output(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
  std::unique_ptr<Session> own_;  ///< of an output that no other session opened
};

}  // namespace tailrace
