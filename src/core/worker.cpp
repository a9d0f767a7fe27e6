// SPDX-License-Identifier: BSD-3-Clause
#include "core/worker.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

namespace tailrace {

namespace {
thread_local double cpu_s_of_helpers = 0;
}

std::thread start_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

std::thread start_background_thread(std::function<void()> body) {
  return start_thread([body = std::move(body)] {
    constexpr int niceness = 10;
    const auto thread = static_cast<id_t>(syscall(SYS_gettid));
    // Never less than that of a job that was started by `nice`.
    setpriority(PRIO_PROCESS, thread, std::max(niceness, getpriority(PRIO_PROCESS, thread)));
    body();
  });
}

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
  {
    const std::lock_guard lock(mutex_);  // several threads may post the first jobs
    if (!thread_.joinable()) thread_ = start_background_thread([this] { loop(); });
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

void parallel_for(std::ptrdiff_t count, int threads,
                  const std::function<void(std::ptrdiff_t)>& action) {
  std::atomic<std::ptrdiff_t> next{0};
  std::atomic<double> helped_s{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::ptrdiff_t i = next++; i < count; i = next++) action(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::ptrdiff_t t = 1; t < std::min<std::ptrdiff_t>(threads, count); ++t) {
      helpers.emplace_back([&] {
        work();
        helped_s += cpu_s_of_thread();
      });
    }
    work();
  }
  cpu_s_of_helpers += helped_s;
  if (failure) std::rethrow_exception(failure);
}

double cpu_s_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) +
         cpu_s_of_helpers;
}

}  // namespace tailrace
