// SPDX-License-Identifier: BSD-3-Clause
#include "core/file_lock.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "tailrace/error.hpp"

namespace tailrace {

using namespace std::chrono_literals;

namespace {

/// 0, EAGAIN if somebody else holds it, or why there can be no lock.
int try_lock(int descriptor) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(descriptor, F_OFD_SETLK, &whole) == 0) return 0;
  if (errno == EACCES) return EAGAIN;
  if (errno == EAGAIN || errno == EINTR) return EAGAIN;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return 0;
  return errno == EINTR ? EAGAIN : errno;
}

}  // namespace

FileLock::FileLock(const std::string& path, double wait_s) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  int failed = descriptor_ < 0 ? errno : try_lock(descriptor_);
  std::chrono::milliseconds napped{0};
  for (std::chrono::milliseconds nap{1}; failed == EAGAIN && napped.count() < 1000 * wait_s;
       nap = nap.count() < 50 ? 2 * nap : 50ms) {
    std::this_thread::sleep_for(nap);
    napped += nap;
    failed = try_lock(descriptor_);
  }
  if (failed == 0) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  throw Error(Errc::io,
              failed == EAGAIN ? fmt::format("another job has held {} for {} s", path, wait_s)
                               : fmt::format("cannot lock {}: {} (errno {})", path,
                                             std::strerror(failed), failed),
              failed);
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tailrace
