// SPDX-License-Identifier: BSD-3-Clause
#include "store/open_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tailrace::store {

OpenFile::OpenFile(const char* path, int flags) : file_(open_descriptor(path, flags)) {
  if (!file_) fail_errno(errno);
}

void OpenFile::write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset) {
  if (const int error = write_at(file_.get(), data, bytes, offset)) fail_errno(error);
}

void OpenFile::resize(std::ptrdiff_t bytes) const {
  if (uninterrupted([&] { return ftruncate(file_.get(), bytes); }) != 0) fail_errno(errno);
}

void OpenFile::flush() const {
  if (uninterrupted([&] { return fsync(file_.get()); }) != 0) fail_errno(errno);
}

void OpenFile::close() {
  if (file_.close() != 0) fail_errno(errno);
}

}  // namespace tailrace::store
