// SPDX-License-Identifier: BSD-3-Clause
#include "store/writer_thread.hpp"

#include "core/background_thread.hpp"

namespace tailrace::store {

WriterThread::WriterThread() { queue_.reserve(16); }

void WriterThread::start() {
  if (!thread_.joinable()) thread_ = start_background_thread([this] { loop(); });
}

WriterThread::~WriterThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void WriterThread::run(FileJob& job) {
  try {
    if (job.kind == FileJob::Kind::write) {
      job.task.write();
    } else {
      job.task.commit();
    }
  } catch (const Error& error) {
    job.failure = error;
  } catch (const std::exception& error) {
    job.failure = Error(Errc::internal, error.what());
  }
}

void WriterThread::post(FileJob& job, FileJob::Kind kind) {
  job.kind = kind;
  job.failure.reset();
  if (!thread_.joinable()) {
    run(job);
    job.done = true;
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    job.done = false;
    queue_.push_back(&job);
  }
  work_.notify_one();
}

bool WriterThread::done(const FileJob& job) {
  const std::lock_guard lock(mutex_);
  return job.done;
}

void WriterThread::wait(const FileJob& job) {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return job.done; });
}

void WriterThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    FileJob* job = queue_.front();
    queue_.erase(queue_.begin());
    lock.unlock();
    run(*job);
    lock.lock();
    job->done = true;
    finished_.notify_all();
  }
}

}  // namespace tailrace::store
