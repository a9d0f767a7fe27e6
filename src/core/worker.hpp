// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tailrace {

/// A thread that gets no signals: they belong to the main thread (the end of a job's time). Local.
std::thread start_thread(std::function<void()> body);
/// The same with a low priority, so that the simulation goes first. Local.
std::thread start_background_thread(std::function<void()> body);

/// Runs jobs one after another on a background thread, which is made by the first one. Jobs must
/// not throw.
class Worker {
 public:
  Worker() = default;
  /// Finishes what was posted.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  void post(std::function<void()> job);

 private:
  void loop();
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::function<void()>> jobs_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tailrace
