// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "store/file_task.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {

/// A piece of work on a file, its state, and what went wrong.
struct FileJob {
  enum class Kind { write, commit };
  FileTask task;
  Kind kind = Kind::write;
  bool done = true;              ///< guarded by the thread's mutex
  std::optional<Error> failure;  ///< read only once done
};

/// Runs jobs one after another: on a background thread of low priority that sleeps when there is
/// nothing to do, or at once in `post` until there is one.
class WriterThread {
 public:
  WriterThread();
  /// Finishes what was posted.
  ~WriterThread();
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  /// Makes the background thread, if there is none yet. Local.
  void start();
  /// Hands over `job`, which must stay where it is until done. Local.
  void post(FileJob& job, FileJob::Kind kind);
  bool done(const FileJob& job);
  void wait(const FileJob& job);

 private:
  void loop();
  static void run(FileJob& job);

  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::vector<FileJob*> queue_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tailrace::store
