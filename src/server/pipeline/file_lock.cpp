// SPDX-License-Identifier: BSD-3-Clause
#include "file_lock.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/open_file.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

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
  const double until_s = now_s() + wait_s;
  for (int nap_ms = 1; failed == EAGAIN && now_s() < until_s;
       nap_ms = nap_ms < 50 ? 2 * nap_ms : 50) {
    std::this_thread::sleep_for(std::chrono::milliseconds(nap_ms));
    failed = try_lock(descriptor_);
  }
  if (failed == 0) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  try {
    store::fail_errno(failed);
  } catch (const Error& error) {
    const auto text = failed == EAGAIN
                          ? fmt::format("another job has held {} for {} s", path, wait_s)
                          : fmt::format("cannot lock {}: {}", path, error.what());
    throw Error(Errc::io, text, failed);
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tailrace::server
