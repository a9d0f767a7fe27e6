// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "tailrace/output.hpp"
#include "tailrace/session.hpp"

namespace tailrace::app {

/// Writes files of one kind: by the ranks that compute, or, in a session, by its servers.
class FileWriter {
 public:
  /// `session` null: `options.output` alone says how, else `name` is the stream's. Collective,
  /// blocking. Throws `Errc::invalid_input` on all ranks.
  FileWriter(const Comm& comm, Session* session, const std::string& name,
             const StreamOptions& options);

  /// Writes `contents` to `path`; false if the step was left out, as the policy of the stream says.
  /// Throws `Errc::io` on all ranks, also for an earlier file. Collective.
  bool write(const std::string& path, const FileContents& contents);
  /// Lets files under way get on. Cheap. All ranks.
  void progress();
  /// Waits until every file has its name. Collective, blocking. Throws `Errc::io` on all ranks.
  void finish();
  /// Path of the last file known to be complete on this rank, or "".
  const std::string& last_complete() const;
  OutputStatistics statistics() const;  ///< of this rank

 private:
  std::optional<Output> output_;
  std::optional<Stream> stream_;
};

}  // namespace tailrace::app
