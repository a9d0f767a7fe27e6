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
#include "tailrace/more/whole_file.hpp"

namespace tailrace {

namespace {

/// 0, EAGAIN if somebody else holds it, or why there can be no lock.
int try_lock(int descriptor) {
  if (set_lock(descriptor, F_WRLCK, F_OFD_SETLK) == 0) return 0;
  if (errno == EACCES || errno == EAGAIN) return EAGAIN;
  if (uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) == 0) return 0;
  return errno;
}

}  // namespace

int set_lock(int descriptor, short kind, int command, off_t start, off_t bytes) noexcept {
  struct flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = start;
  range.l_len = bytes;
  return uninterrupted([&] { return fcntl(descriptor, command, &range); });
}

FileLock::FileLock(const std::string& path, double wait_s) {
  const auto file = std::make_shared<Descriptor>(open_descriptor(path, O_RDWR | O_CREAT));
  int failed = *file ? try_lock(file->get()) : errno;
  double napped_s = 0;
  for (double nap_s = 0.001; failed == EAGAIN && napped_s < wait_s;
       nap_s = std::min(2 * nap_s, 0.05)) {
    std::this_thread::sleep_for(std::chrono::duration<double>(nap_s));
    napped_s += nap_s;
    failed = try_lock(file->get());
  }
  if (failed == 0) {
    file_ = file;
    return;
  }
  throw Error(Errc::io,
              failed == EAGAIN ? fmt::format("another job has held {} for {} s", path, wait_s)
                               : fmt::format("cannot lock {}: {} (errno {})", path,
                                             std::strerror(failed), failed),
              failed);
}

}  // namespace tailrace
