// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "tailrace/more/file_contents.hpp"
#include "tailrace/more/output_statistics.hpp"
#include "tailrace/more/stream_options.hpp"

namespace tailrace {

/// The outcome of a step.
enum class WriteResult { staged, written, dropped, lowered, spilled };

/// An output of the application: files of named arrays, one per step, which leave by the session's
/// servers. Made by `Session::open`.
class Stream {
 public:
  ~Stream();  ///< as `finish`, but prints errors
  Stream(Stream&&) noexcept;

  /// Hands over `contents`, to be written to `path`. When it returns, the caller's arrays may be
  /// changed. Layouts may differ from call to call. Throws on all ranks the same error: one of
  /// these arguments, or (`OnFailure::stop`) `Errc::io` of an earlier file, with errno, rank, path
  /// and step; then nothing of `contents` has been taken, and the call may be repeated. Collective
  /// over the compute ranks; blocking for the copy, and as `when_full` says.
  WriteResult write(const std::string& path, const FileContents& contents);
  /// Moves data on, where the transport needs help (`credit`, `push_*`). Cheap. Local.
  void progress();
  /// Waits until every file has its final name; throws like `write`. Collective, blocking.
  void finish();
  OutputStatistics statistics() const;
  /// Path of the last file known on this rank to be complete, or "". Local.
  const std::string& last_complete() const;

  class State;
  explicit Stream(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tailrace
