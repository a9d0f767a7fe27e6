// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <mpi.h>

#include "tailrace/more/whole_file.hpp"

namespace tailrace::app {

/// What a `RunFolder` is asked for.
struct RunFolderRequest {
  std::string path;
  std::string case_name;  ///< of the field files
  std::string restart;    ///< `restart.file`: "", "latest", "latest_or_fresh" or a path
  bool overwrite = false;
  std::vector<std::string> results;      ///< names of files of a run, beside checkpoints
  std::set<std::string> output_folders;  ///< that files of fields and products go to
};

/// The folder of a run. It holds the results of one run, which may come in parts that restart from
/// each other's checkpoints, and one process at a time: a lock on RUN/.lock, which the kernel takes
/// from a killed process. What rank 0 finds there, all ranks learn.
class RunFolder {
 public:
  /// Makes the folder, locks it and finds out whether the run starts afresh or goes on, as
  /// `restart.file` says. A fresh start in a folder that holds results is refused, unless
  /// `overwrite` says that they may go. Removes what a killed run left half written. Collective,
  /// blocking. Throws `Errc::invalid_input` or `Errc::io` on all ranks.
  RunFolder(MPI_Comm comm, RunFolderRequest request);

  /// Checkpoint to go on from; "" = a fresh start.
  const std::string& checkpoint() const { return checkpoint_; }
  /// To be called when the checkpoint has been read, which is of `step`. If the case names its
  /// file, later checkpoints in the folder are of another run, which the next restart would take
  /// for this one's: they are removed if results may go, else it throws `Errc::invalid_input`.
  /// Collective, blocking.
  void go_on_from(std::int64_t step);

 private:
  void lock();
  std::string choose_checkpoint() const;
  void start_afresh() const;
  void remove_partials(std::int64_t restart_step) const;

  MPI_Comm comm_;
  int rank_ = 0;
  RunFolderRequest asked_;
  bool newest_;  ///< goes on from the newest checkpoint, not from a file that was named
  std::string checkpoint_;
  FileLock lock_;  ///< of rank 0
};

/// Path of the checkpoint of `step` in the run's folder: FOLDER/checkpoint_NNNNNN.h5. Local.
std::string checkpoint_path(const std::string& folder, std::int64_t step);

/// Steps of the checkpoints in `folder`. Local.
std::set<std::int64_t> checkpoint_steps(const std::string& folder);

}  // namespace tailrace::app
