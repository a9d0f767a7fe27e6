// SPDX-License-Identifier: BSD-3-Clause
#include "core/system_call.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace {
namespace {
std::string errno_text(int error) {
  return fmt::format("{} (errno {})", std::strerror(error), error);
}
}  // namespace

void fail_errno(int error) { throw Error(Errc::io, errno_text(error), error); }

void fail_io(std::string_view doing, const std::string& path, int error) {
  throw Error(Errc::io, fmt::format("cannot {} {}: {}", doing, path, errno_text(error)), error);
}

Descriptor open_descriptor(const char* path, int flags, mode_t mode) {
  return Descriptor(uninterrupted([&] { return open(path, flags | O_CLOEXEC, mode); }));
}

int read_at(int descriptor, void* data, std::ptrdiff_t bytes, off_t offset) {
  for (auto* at = static_cast<char*>(data); bytes > 0;) {
    const auto count = static_cast<std::size_t>(bytes);
    const auto some = uninterrupted([&] { return pread(descriptor, at, count, offset); });
    if (some <= 0) return some < 0 ? errno : EIO;
    at += some;
    bytes -= some;
    offset += some;
  }
  return 0;
}

int write_at(int descriptor, const void* data, std::ptrdiff_t bytes, off_t offset) {
  for (const auto* at = static_cast<const char*>(data); bytes > 0;) {
    const auto count = static_cast<std::size_t>(bytes);
    const auto some = uninterrupted([&] { return pwrite(descriptor, at, count, offset); });
    if (some <= 0) return some < 0 ? errno : ENOSPC;
    at += some;
    bytes -= some;
    offset += some;
  }
  return 0;
}

int close_descriptor(int descriptor) {
  const int status = close(descriptor);
  return status != 0 && errno == EINTR ? 0 : status;
}

int take_space(int descriptor, off_t start, off_t bytes) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(descriptor, start, bytes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

Descriptor open_nameless(const std::string& folder) {
  Descriptor nameless(
      uninterrupted([&] { return open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); }));
  // Network file systems know no nameless files: a name for a moment.
  if (nameless || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
    return nameless;
  }
  std::string name;
  Descriptor named(uninterrupted([&] {
    name = folder + "/.tailrace_XXXXXX";
    return mkostemp(name.data(), O_CLOEXEC);
  }));
  if (named) uninterrupted([&] { return unlink(name.c_str()); });
  return named;
}

}  // namespace tailrace
