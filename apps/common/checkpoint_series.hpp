// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "common/file_writer.hpp"

namespace tailrace::app {

/// The checkpoints of a run, FOLDER/checkpoint_NNNNNN.h5, of which the last two are kept.
class CheckpointSeries {
 public:
  /// By the servers of `session`, or, if it is null, by the ranks of `comm`. Collective, blocking.
  CheckpointSeries(const Comm& comm, Session* session, const StreamOptions& options,
                   std::string folder);
  /// Whether the checkpoint of `step` has been written last.
  bool has(std::int64_t step) const;
  /// Writes `contents`, which name their step, and, when it is safe on disk, removes the checkpoint
  /// before the previous one. Collective; blocking without servers, unless the options hide it.
  /// Throws `Errc::io` on all ranks.
  void write(const FileContents& contents);
  /// Lets files under way get on. Cheap. All ranks.
  void progress();
  /// Waits until the last checkpoint is safe. Collective, blocking. Throws `Errc::io`.
  void finish();
  /// Path of the last checkpoint known to be safe, or "".
  const std::string& last() const { return writer_.last_complete(); }
  OutputStatistics statistics() const { return writer_.statistics(); }  ///< of this rank

 private:
  void remove_old();
  void remove(const std::string& path) const;

  int rank_;
  bool waits_;  ///< for each file
  FileWriter writer_;
  std::string folder_;
  std::deque<std::string> paths_;  ///< that this run has written and not removed
};

/// Throws `Errc::corrupt` on all ranks unless all of a checkpoint but its arrays, which are
/// compared with their checksums when they are read, is as it was written: attributes, coordinates.
/// Collective, blocking.
void require_whole(const Comm& comm, const std::string& path);

}  // namespace tailrace::app
