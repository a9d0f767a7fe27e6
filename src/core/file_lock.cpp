// SPDX-License-Identifier: BSD-3-Clause
#include "core/file_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/system_call.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

namespace {

/// 0, EAGAIN if somebody else holds it, or why there can be no lock.
int try_lock(int descriptor) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (uninterrupted([&] { return ::fcntl(descriptor, F_OFD_SETLK, &whole); }) == 0) return 0;
  if (errno == EACCES || errno == EAGAIN) return EAGAIN;
  if (uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) == 0) return 0;
  return errno;
}

}  // namespace

FileLock::FileLock(const std::string& path, double wait_s) {
  descriptor_ =
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  int failed = descriptor_ < 0 ? errno : try_lock(descriptor_);
  double napped_s = 0;
  for (double nap_s = 0.001; failed == EAGAIN && napped_s < wait_s;
       nap_s = std::min(2 * nap_s, 0.05)) {
    std::this_thread::sleep_for(std::chrono::duration<double>(nap_s));
    napped_s += nap_s;
    failed = try_lock(descriptor_);
  }
  if (failed == 0) return;
  if (descriptor_ >= 0) close_descriptor(descriptor_);
  descriptor_ = -1;
  throw Error(Errc::io,
              failed == EAGAIN ? fmt::format("another job has held {} for {} s", path, wait_s)
                               : fmt::format("cannot lock {}: {} (errno {})", path,
                                             std::strerror(failed), failed),
              failed);
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close_descriptor(descriptor_);
}

}  // namespace tailrace
