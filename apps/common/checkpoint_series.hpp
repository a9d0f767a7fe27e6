// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "tailrace/session.hpp"

namespace tailrace::app {

/// The checkpoints of a run, FOLDER/checkpoint_NNNNNN.h5, of which the last two are kept.
class CheckpointSeries {
 public:
  /// As `session` writes. Collective over the ranks that compute, blocking.
  CheckpointSeries(Session& session, const OutputOptions& options, std::string folder);
  /// Whether the checkpoint of `step` has been written last.
  bool has(std::int64_t step) const;
  /// Writes `contents`, which name their step, and, when it is safe on disk, removes the checkpoint
  /// before the previous one. Collective; blocking as `Output::write`. Throws `Errc::io` on all
  /// ranks, also for an earlier one.
  void write(const FileContents& contents);
  /// Lets files under way get on. Cheap. All ranks.
  void progress();
  /// Waits until the last checkpoint is safe. Collective, blocking. Throws `Errc::io`.
  void finish();
  /// Path of the last checkpoint known to be safe, or "".
  const std::string& last() const { return stream_.last_complete(); }
  OutputStatistics statistics() const { return stream_.statistics(); }  ///< of this rank

 private:
  void remove_old();
  void remove(const std::string& path) const;

  int rank_;
  Output stream_;
  std::string folder_;
  std::deque<std::string> paths_;  ///< that this run has written and not removed
};

/// Throws `Errc::corrupt` on all ranks unless all of a checkpoint but its arrays, which are
/// compared with their checksums when they are read, is as it was written: attributes, coordinates.
/// Collective, blocking.
void require_whole(const Comm& comm, const std::string& path);

}  // namespace tailrace::app
