// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/worker.hpp"
#include "store/file_task.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::store {

/// A file's work on this rank, its state, and what went wrong.
struct FileJob {
  FileTask task;
  std::atomic<bool> done = true;
  std::optional<Error> failure;  ///< read only once done
};

/// Follows the files under way, oldest first. A file is committed (renamed) when the writers of all
/// ranks have its data on disk, which they tell each other by a non-blocking reduction; a second
/// one tells all ranks the outcome of the rename. Checksums that one rank writes for all are
/// brought to it in between. So a file ends the same way on every rank. Files are numbered from 0;
/// the `slots` newest may be under way. MPI calls only from the main thread.
class Completion {
 public:
  /// `in_background`: a thread of this rank does its work on files, else `begin` and `progress` do.
  Completion(const Comm& comm, bool in_background, int slots);
  /// Nothing may be under way.
  ~Completion() = default;

  /// The job of the next file, to be filled and posted by `begin`.
  FileJob& next_job() { return slot(num_begun_).job; }
  void begin(bool is_writer);
  std::int64_t num_begun() const { return num_begun_; }
  /// Files known on this rank to be complete or failed. Local.
  std::int64_t num_ended() const { return num_ended_; }
  /// Advances as far as possible without waiting. Local.
  void progress();
  /// Waits until `count` files have ended. Collective.
  void wait(std::int64_t count);
  /// Number of the oldest file from `from` on that writes or wrote to `path`, or -1. Local.
  std::int64_t find(const std::string& path, std::int64_t from);
  /// Throws on all ranks if file `number` failed. It must have ended. Collective.
  void check(std::int64_t number);
  const FileTask& task(std::int64_t number) { return slot(number).job.task; }

 private:
  enum class Stage { writing, agreeing, gathering, committing, agreeing_commit, ended };
  struct Slot {
    FileJob job;
    Stage stage = Stage::ended;
    bool posted = false;  // this rank has work in the present stage
    int failing_rank = 0;
  };
  Slot& slot(std::int64_t number) {
    return slots_[static_cast<std::size_t>(number) % slots_.size()];
  }
  bool advance(bool wait);
  void post(FileJob& job, void (FileTask::*work)());
  static bool job_done(Slot& file, bool wait);
  void start_agreement(Slot& file, Stage stage);
  bool agreement_done(bool wait);
  void start_gather(Slot& file, const FileTask::Gather& gather);
  void start_commit(Slot& file);

  Comm comm_;
  bool in_background_;
  std::vector<Slot> slots_;
  std::int64_t num_begun_ = 0;
  std::int64_t num_ended_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int own_vote_ = 0, vote_ = 0;
  Worker worker_;  // ends before what it works on
};

}  // namespace tailrace::store
