// SPDX-License-Identifier: BSD-3-Clause
#include "core/worker.hpp"

#include <utility>

#include "core/background_thread.hpp"

namespace tailrace {

Worker::~Worker() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void Worker::post(std::function<void()> job) {
  if (!thread_.joinable()) thread_ = start_background_thread([this] { loop(); });
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  work_.notify_one();
}

void Worker::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace tailrace
