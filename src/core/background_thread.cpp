// SPDX-License-Identifier: BSD-3-Clause
#include "core/background_thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tailrace {

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

}  // namespace tailrace
