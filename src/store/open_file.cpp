// SPDX-License-Identifier: BSD-3-Clause
#include "store/open_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/system_call.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {

namespace {

constexpr std::ptrdiff_t page_bytes = 4096;

}  // namespace

void fail_errno(int error) {
  throw Error(Errc::io, fmt::format("{} (errno {})", std::strerror(error), error), error);
}

OpenFile::OpenFile(const char* path, int flags)
    : fd_(uninterrupted([&] { return open(path, flags | O_CLOEXEC, 0666); })) {
  if (fd_ < 0) fail_errno(errno);
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) close_descriptor(fd_);
  if (direct_ >= 0) close_descriptor(direct_);
}

void OpenFile::open_direct(const char* path, std::ptrdiff_t least_bytes) {
  direct_ = uninterrupted([&] { return open(path, O_WRONLY | O_CLOEXEC | O_DIRECT); });
  least_direct_ = least_bytes;
}

void OpenFile::write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto done = uninterrupted([&] { return write_some(at, bytes, offset); });
    if (done < 0) fail_errno(errno);
    if (done == 0) fail_errno(ENOSPC);
    at += done;
    bytes -= done;
    offset += done;
  }
}

ssize_t OpenFile::write_some(const char* data, std::ptrdiff_t bytes, std::ptrdiff_t offset) {
  ++writes_;
  const auto whole = bytes / page_bytes * page_bytes;
  const bool aligned = whole > 0 && whole >= least_direct_ && offset % page_bytes == 0 &&
                       reinterpret_cast<std::uintptr_t>(data) % page_bytes == 0;
  if (direct_ >= 0 && aligned) {
    const auto done = pwrite(direct_, data, static_cast<std::size_t>(whole), offset);
    if (done >= 0 || errno != EINVAL) return done;
    close_descriptor(std::exchange(direct_, -1));  // not for this file system after all
  }
  return pwrite(fd_, data, static_cast<std::size_t>(bytes), offset);
}

void OpenFile::resize(std::ptrdiff_t bytes) const {
  if (uninterrupted([&] { return ftruncate(fd_, bytes); }) != 0) fail_errno(errno);
}

void OpenFile::flush(bool folder) const {
  if (uninterrupted([&] { return fsync(fd_); }) != 0 && !(folder && errno == EINVAL))
    fail_errno(errno);
}

void OpenFile::close() {
  if (direct_ >= 0) close_descriptor(std::exchange(direct_, -1));
  if (close_descriptor(std::exchange(fd_, -1)) != 0) fail_errno(errno);
}

}  // namespace tailrace::store
