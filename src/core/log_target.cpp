// SPDX-License-Identifier: BSD-3-Clause
#include "core/log_target.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::detail {

namespace {

constexpr std::ptrdiff_t max_flush_bytes = 1 << 16;

/// Keeps SIGPIPE from this thread, and takes the one that a write raised out of the queue.
class PipeSignalHeld {
 public:
  PipeSignalHeld() {
    sigset_t waiting;
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    sigpending(&waiting);
    was_waiting_ = sigismember(&waiting, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~PipeSignalHeld() {
    const timespec at_once{};
    if (!was_waiting_) sigtimedwait(&set_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalHeld(const PipeSignalHeld&) = delete;
  PipeSignalHeld& operator=(const PipeSignalHeld&) = delete;

 private:
  sigset_t set_{};
  sigset_t before_{};
  bool was_waiting_ = false;
};

}  // namespace

LogTarget::LogTarget(const std::string& name) {
  if (name == "stderr") {
    file_ = STDERR_FILENO;
  } else if (name == "stdout") {
    file_ = STDOUT_FILENO;
  } else {
    own_ = open_descriptor(name, O_WRONLY | O_CREAT | O_APPEND);
    if (!own_) fail_io("open log", name, errno);
    file_ = own_.get();
  }
  struct stat status {};
  pipe_ = fstat(file_, &status) == 0 && !S_ISREG(status.st_mode);
}

std::ptrdiff_t LogTarget::room() const {
  if (broken_ || !pipe_) return max_flush_bytes;
  // A pipe that poll calls writable takes PIPE_BUF bytes without waiting.
  pollfd asked{file_, POLLOUT, 0};
  if (uninterrupted([&] { return poll(&asked, 1, 0); }) == 0) return 0;
  return PIPE_BUF;
}

void LogTarget::write(const std::string& text) noexcept {
  if (broken_ || text.empty()) return;
  const PipeSignalHeld held;
  const auto written = uninterrupted([&] { return ::write(file_, text.data(), text.size()); });
  broken_ = written < 0 && errno != EAGAIN;
}

}  // namespace tailrace::detail
