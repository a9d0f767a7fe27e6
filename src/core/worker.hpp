// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
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

/// Calls action(i) for each i of 0 .. count - 1, by up to `threads` threads, each taking the next
/// free number. The first exception is thrown again when all threads have stopped; numbers that
/// nobody has taken by then are left out. Local, blocking.
void parallel_for(std::ptrdiff_t count, int threads,
                  const std::function<void(std::ptrdiff_t)>& action);

/// Processor time [s] of the calling thread, and of the threads that have helped it in
/// `parallel_for`. Local.
double cpu_s_of_thread();

}  // namespace tailrace
