// SPDX-License-Identifier: BSD-3-Clause
#include "store/open_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tailrace::store {

constexpr std::ptrdiff_t page_bytes = 4096;

OpenFile::OpenFile(const char* path, int flags) : file_(open_descriptor(path, flags)) {
  if (!file_) fail_errno(errno);
}

void OpenFile::open_direct(const char* path, std::ptrdiff_t least_bytes) {
  direct_ = open_descriptor(path, O_WRONLY | O_DIRECT);
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
  if (direct_ && aligned) {
    const auto done = pwrite(direct_.get(), data, static_cast<std::size_t>(whole), offset);
    if (done >= 0 || errno != EINVAL) return done;
    direct_.close();  // not for this file system after all
  }
  return pwrite(file_.get(), data, static_cast<std::size_t>(bytes), offset);
}

void OpenFile::resize(std::ptrdiff_t bytes) const {
  if (uninterrupted([&] { return ftruncate(file_.get(), bytes); }) != 0) fail_errno(errno);
}

void OpenFile::flush() const {
  if (uninterrupted([&] { return fsync(file_.get()); }) != 0) fail_errno(errno);
}

void OpenFile::close() {
  direct_.close();
  if (file_.close() != 0) fail_errno(errno);
}

}  // namespace tailrace::store
